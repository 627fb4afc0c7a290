// The keys of a job file as a page.
#pragma once

#include <string>

namespace headrace::job {

/// Every section with a table of its keys: unit, allowed values, default, meaning. A part of
/// docs/reference/job-keys.md.
std::string job_keys_markdown();

}  // namespace headrace::job
