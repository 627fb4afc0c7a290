// Jobs that were watched before and after a change: each as a run that comparisons take.
#pragma once

#include <string>

#include "harness/results/run_file.h"

namespace headrace::observe {

inline constexpr const char* kObservationFile = "observe.json";

/// Of observe.json: one point, "observe", with the share of the time in which data was there and the rate of batches, each in up to
/// 20 parts of the time in which batches were taken. Throws UsageError: "seen/observe.json: ...".
results::StoredRun run_in(const std::string& path);

}  // namespace headrace::observe
