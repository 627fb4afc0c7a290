// One entry of `workloads:` becomes points.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/plan.h"

namespace headrace {

/// The points of one entry, sweeps expanded; `defaults` may be null, and `needed`, which is as for
/// Params. What is wrong is added to `problems`.
std::vector<Point> make_points(const config::Value& entry, const config::Value* defaults,
                               const std::map<std::string, double>* needed,
                               const PlanOptions& options, Diagnostics& problems);

}  // namespace headrace
