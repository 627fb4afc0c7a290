// A point's preparation before its first repetition: its data, its settings, and the memory that reading will take.
#pragma once

#include <exception>
#include <string>

#include "harness/engine/engine.h"
#include "harness/engine/limits.h"
#include "harness/workload/data/data_set.h"

namespace headrace::engine {

// The stages of a point before and after its repetitions: how one ends, and how a signal ends it.

/// How a stage ended. Where it is not `ok` the point ends.
struct StageEnd {
  PointStatus status = PointStatus::ok;
  std::string reason;
  bool hung = false;  // a thread was left behind: nothing of this point may be touched any more

  bool ok() const { return status == PointStatus::ok; }
};

/// Thrown from a progress call when a signal asks to stop.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// Reports `observer` of data that are made or read. Throws Interrupted once a signal asks to stop.
DataProgress stoppable(RunObserver& observer);

/// Adds a note that is not reported yet.
void add_note(PointResult& result, std::string note);

struct Preparation {
  StageEnd end;
  bool refused = false;  // by the workload's check: nothing was made, and nothing is there to clean up
};

/// This rank's own share: the workload checks existing data, makes its own and searches its settings. Throws UsageError
/// where no other rank waits (`alone`).
Preparation prepare(const Point& point, Node& node, const EngineLimits& limits, const DataProgress& progress,
                    bool alone);

/// Touches memory that the first reading would take from the hypervisor, for at most a share of the run's `budget_s`.
StageEnd touch_for_reading(const Point& point, const Node& node, double budget_s, const EngineLimits& limits,
                           const DataProgress& progress, PointResult& result);

}  // namespace headrace::engine
