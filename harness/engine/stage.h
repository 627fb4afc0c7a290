// The stages of a point before and after its repetitions: how one ends, and how a signal ends it.
#pragma once

#include <exception>
#include <string>

#include "harness/engine/engine.h"
#include "harness/workload/data/data_set.h"

namespace headrace::engine {

/// How a stage ended. Where it is not `ok` the point does not go on.
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

/// Adds what is not reported yet.
void add_note(PointResult& result, std::string note);

}  // namespace headrace::engine
