// What follows for the data set where every call on a file was written down.
#pragma once

#include "harness/observe/calls/call_log.h"
#include "harness/observe/observation.h"

namespace headrace::observe {

/// Puts what was counted in place of what was estimated.
void apply_trace(const calls::Log& log, Observation& seen);

}  // namespace headrace::observe
