// Collectives, and messages between two ranks, at several sizes. Fitted latency and bandwidth, and their consequences
// for the job.
#pragma once

#include <vector>

#include "harness/engine/plan/plan.h"
#include "harness/engine/run_result.h"

namespace headrace::engine {

/// A curve for each collective with at least three sizes, all else being equal. A note of it goes to the largest size.
/// Known by their metric time_s, of one call or message.
std::vector<CollectiveCurve> fit_curves(const Plan& plan, std::vector<PointResult>& points);

}  // namespace headrace::engine
