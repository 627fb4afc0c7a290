// Points that differ in their number of clients alone, as curves.
#pragma once

#include <vector>

#include "harness/engine/explain/scaling.h"
#include "harness/engine/run_result.h"

namespace headrace::engine {

/// One for each workload with two numbers of clients or more, judged. It is of its first rate (in B/s where possible).
/// Only of workloads whose clients each do a share: collective operations do not add up.
std::vector<ScalingCurve> scaling_curves(const std::vector<PointResult>& points);

}  // namespace headrace::engine
