// How much of the time training computed when it was observed, and how much it could at most on the storage of a replay.
#pragma once

#include <optional>
#include <string>

#include "harness/observe/calls/call_log.h"
#include "harness/observe/replay/plan.h"

namespace headrace::observe::replay {

/// Share of the time in which those who take batches did not wait for them.
struct Fed {
  double value = 0, low = 0, high = 0;
};
/// From the trace; or, where it does not hold what they waited for, from an observe.json beside it, if that is of the same
/// processes. Nothing: neither reports.
std::optional<Fed> observed_fed(const calls::Log& log, const std::string& trace);

/// Training needs `fed` of `observed_s` for itself; the loader's accesses take `replayed_s` when nobody waits for others. The
/// longer of both is how long it takes at least.
double fed_at_most(double fed, double observed_s, double replayed_s);

}  // namespace headrace::observe::replay
