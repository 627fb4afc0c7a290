// One entry of `workloads:` becomes points.
#pragma once

#include <string>
#include <vector>

#include "harness/engine/plan/asked_needs.h"
#include "harness/engine/plan/plan.h"

namespace headrace {

/// The points of one entry, sweeps expanded; `defaults` and `job` may be null. `message_size: need`
/// stands for the collectives of the job's needs that the workload measures: a point for each of
/// them, none without a job. What is wrong is added to `problems`.
std::vector<Point> make_points(const config::Value& entry, const config::Value* defaults, const JobNeeds* job,
                               const PlanOptions& options, Diagnostics& problems);

}  // namespace headrace
