// What a network file system's client did between two looks at its counters.
#pragma once

#include "harness/machine/client_counters.h"
#include "harness/record/client_calls.h"

namespace headrace::engine {

/// Operations that were asked for meanwhile, the one that took longest first. `counter`: where that was read.
ClientCalls calls_between(const system::ClientCounters& before, const system::ClientCounters& after,
                          const std::string& counter);

}  // namespace headrace::engine
