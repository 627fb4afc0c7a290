// What lay ready at moments, counted by traced calls: looks from outside cannot show a sample from a library that is loaded.
#pragma once

#include "harness/observe/calls/call_log.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe {

/// In the moments and in what was taken: of bytes those of data files alone, of calls those on files left out. Nothing where
/// calls are missing in the trace, or its time is not the recording's.
void make_exact(const calls::Log& traced, Recording& recording);

}  // namespace headrace::observe
