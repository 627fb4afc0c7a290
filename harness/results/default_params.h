// Parameters that a run file does not report, as the version that wrote it did not have them.
#pragma once

#include <map>
#include <string>

namespace headrace::results {

/// Adds what `workload` has and `params` (as JSON has their values) lacks, with its default: a version without the
/// parameter did what the default says. Workloads that this program does not have stay as they are.
void add_default_params(const std::string& workload, std::map<std::string, std::string>& params);

}  // namespace headrace::results
