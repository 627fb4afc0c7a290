// The share of the time in which training computed when observed, and the maximum on the storage of a replay.
#pragma once

#include <optional>
#include <string>

#include "harness/observe/calls/call_log.h"
#include "harness/observe/replay/plan.h"

namespace headrace::observe::replay {

/// Share of the time in which the consumers of batches did not wait for them.
struct Fed {
  double value = 0, low = 0, high = 0;
};
/// From the trace. Or, where it lacks their waiting, from an observe.json next to it, if that is of the same processes.
/// Nothing: neither reports.
std::optional<Fed> observed_fed(const calls::Log& log, const std::string& trace);

/// Training needs `fed` of `observed_s` for itself; the loader's accesses take `replayed_s` when none waits for others.
/// The longer of both is the least time.
double fed_at_most(double fed, double observed_s, double replayed_s);

}  // namespace headrace::observe::replay
