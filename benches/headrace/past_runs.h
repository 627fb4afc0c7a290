// Past sessions, as --history names them.
#pragma once

#include <string>
#include <vector>

#include "harness/results/run_file.h"

namespace headrace::cli {

/// The runs below `folder`, one level deep. What cannot be read is reported and left out. Throws UsageError where there is no
/// such folder.
std::vector<results::StoredRun> past_runs(const std::string& folder);

}  // namespace headrace::cli
