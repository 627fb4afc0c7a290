// Untimed work under watch: storage can hang there as well as in a timed region.
#pragma once

#include <functional>
#include <string>

#include "harness/engine/limits.h"
#include "harness/workload/data/data_set.h"

namespace headrace::engine {

/// How a watched step ended. Its exception is thrown again to the caller.
struct WatchedEnd {
  bool hung = false;
  std::string why;  // TIMEOUT: the part that did not go on, and for how long
};

/// Runs `step` on a thread of its own and waits for it. `what` describes it ("preparing"). The step gets a progress
/// callback. Each call with other numbers or words than the last is a sign of life. It is passed on to `progress`,
/// which may throw to end the step. Without a sign of life for limits.stall_s, or for limits.grace_s after a signal,
/// the thread is left behind (see abandoned_threads()). While the whole process is stopped, neither counts. So the step
/// must own everything it touches, or touch only data that lives until the program ends.
WatchedEnd run_watched(const std::string& what, const EngineLimits& limits, const DataProgress& progress,
                       std::function<void(const DataProgress&)> step);

}  // namespace headrace::engine
