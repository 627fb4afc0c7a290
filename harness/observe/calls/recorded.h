// Recorded calls, in the form that looks at the same job would have given.
#pragma once

#include "harness/observe/calls/call_log.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe::calls {

/// Where the log does not report what threads did between their calls, that is Wait::other. Nothing is in it of devices,
/// processors and the rest of the machine.
Recording recorded(const Log& log);

}  // namespace headrace::observe::calls
