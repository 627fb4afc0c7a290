// What a network file system's client did between two looks at its counters.
#pragma once

#include "harness/record/client_calls.h"
#include "harness/system/nfs_stats.h"

namespace headrace::engine {

/// Operations that were asked for meanwhile, the one that took longest first.
ClientCalls calls_between(const system::NfsStats& before, const system::NfsStats& after);

}  // namespace headrace::engine
