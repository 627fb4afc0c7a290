// In which order the points of a plan are measured: of a rehearsal by the results of those before.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/engine/run_result.h"

namespace headrace::engine {

struct NextPoint {
  std::size_t index = 0;  // in the plan
  std::optional<double>
      share;  // of the time that is left of the plan's budget; none: the point has a budget of its own
};

/// `results`: of each point of the plan, not_reached where it was not begun. Nothing: no other point can decide
/// anything. The job's own pipeline is the first point of a rehearsal. Then the points that tune its loader, that show
/// its limit, that a prediction needs.
std::optional<NextPoint> next_point(const Plan& plan, const std::vector<PointResult>& results);

/// Why the point was not begun although there was time for it. "": it would be next, or one of the next.
std::string why_not_needed(const Plan& plan, const std::vector<PointResult>& results, const Point& point);

/// Is it a setting of the loader that is only measured where it can decide something?
bool is_tried_on_demand(const Point& point);

}  // namespace headrace::engine
