// One entry of `workloads:` becomes points.
#pragma once

#include <string>
#include <vector>

#include "harness/engine/plan/asked_needs.h"
#include "harness/engine/plan/plan.h"

namespace headrace {

/// The points of one entry, sweeps expanded; `defaults` and `job` may be null. `message_size: need` means the
/// collectives of the job's needs that the workload measures. There is a point for each, none without a job. Errors are
/// added to `problems`.
std::vector<Point> make_points(const config::Value& entry, const config::Value* defaults, const JobNeeds* job,
                               const PlanOptions& options, Diagnostics& problems);

}  // namespace headrace
