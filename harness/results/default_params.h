// Parameters that a run file does not report, as the version that wrote it did not have them.
#pragma once

#include <map>
#include <string>

namespace headrace::results {

/// Adds missing parameters of `workload` to `params` (with values as in JSON), with their defaults. A version without a
/// parameter used its default. Unknown workloads stay as they are.
void add_default_params(const std::string& workload, std::map<std::string, std::string>& params);

}  // namespace headrace::results
