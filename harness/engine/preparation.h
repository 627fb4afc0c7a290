// What a point does before its first repetition: its data, its settings, and the memory that reading will take.
#pragma once

#include "harness/engine/limits.h"
#include "harness/engine/stage.h"

namespace headrace::engine {

struct Preparation {
  StageEnd end;
  bool refused = false;  // by the workload's check: nothing was made, and nothing is there to clean up
};

/// This rank's own share: the workload checks what is there, makes its data and searches its settings. Throws UsageError
/// where no other rank waits (`alone`).
Preparation prepare(const Point& point, Node& node, const EngineLimits& limits, const DataProgress& progress,
                    bool alone);

/// Touches memory that the first reading would take from the hypervisor, for at most a share of the run's `budget_s`.
StageEnd touch_for_reading(const Point& point, const Node& node, double budget_s, const EngineLimits& limits,
                           const DataProgress& progress, PointResult& result);

}  // namespace headrace::engine
