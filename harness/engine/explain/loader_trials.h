// The tried and the possible settings of a rehearsal that tunes.
#pragma once

#include <optional>
#include <vector>

#include "harness/engine/explain/loader_tuning.h"
#include "harness/engine/run_result.h"

namespace headrace::engine {

/// The trials among the points that were measured so far. Nothing: the plan has no other settings of the loader to try.
std::optional<LoaderTrials> loader_trials(const Plan& plan, const std::vector<PointResult>& points);

}  // namespace headrace::engine
