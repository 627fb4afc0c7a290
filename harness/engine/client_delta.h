// What a network file system's client did between two looks at its counters.
#pragma once

#include "harness/record/client_calls.h"
#include "harness/system/client_counters.h"

namespace headrace::engine {

/// Operations that were asked for meanwhile, the one that took longest first. `counter`: where that was read.
ClientCalls calls_between(const system::ClientCounters& before, const system::ClientCounters& after,
                          const std::string& counter);

}  // namespace headrace::engine
