// Reads a trace of calls, whichever tool wrote it.
#pragma once

#include <string>
#include <vector>

#include "harness/observe/calls/call_log.h"

namespace headrace::observe::calls {

/// The log of one tool, a file or several (DFTracer writes one for each process). Throws UsageError where one cannot be
/// read, or holds nothing; RunError where its reader is not installed.
Log read(const std::vector<std::string>& files);

}  // namespace headrace::observe::calls
