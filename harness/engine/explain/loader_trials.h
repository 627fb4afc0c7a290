// What a rehearsal that tunes has tried, and can try.
#pragma once

#include <optional>
#include <vector>

#include "harness/engine/explain/loader_tuning.h"
#include "harness/engine/run_result.h"

namespace headrace::engine {

/// Of the points that were measured so far. Nothing: the plan has no other settings of the loader to try.
std::optional<LoaderTrials> loader_trials(const Plan& plan, const std::vector<PointResult>& points);

}  // namespace headrace::engine
