// The data set by a trace of every call on a file.
#pragma once

#include "harness/observe/calls/call_log.h"
#include "harness/observe/observation.h"

namespace headrace::observe {

/// Replaces estimates by counts.
void apply_trace(const calls::Log& log, Observation& seen);

}  // namespace headrace::observe
