// The batches that were ready at moments, counted by traced calls. Looks from outside cannot distinguish a sample from
// a loaded library.
#pragma once

#include "harness/observe/calls/call_log.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe {

/// Puts exact counts into stills and taken batches: bytes of data files alone, calls on other files left out. Nothing
/// where calls are missing in the trace, or its time is not the recording's.
void make_exact(const calls::Log& traced, Recording& recording);

}  // namespace headrace::observe
