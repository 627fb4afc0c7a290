// Jobs that were watched before and after a change: each as a run that comparisons take.
#pragma once

#include <string>

#include "harness/results/run_file.h"

namespace headrace::observe {

inline constexpr const char* kObservationFile = "observe.json";

/// The run in observe.json. One point, "observe", has the share of time with data and the rate of batches. Each has up
/// to 20 parts of the time in which batches were taken. Throws UsageError: "seen/observe.json: ...".
results::StoredRun run_in(const std::string& path);

}  // namespace headrace::observe
