// A log as it is kept: DFTracer's lines of JSON, which other tools read, too, packed by gzip.
#pragma once

#include <string>

#include "harness/observe/calls/call_log.h"

namespace headrace::observe::calls {

/// "trace.pfw.gz": read_dftracer() gives the same log again.
std::string packed(const Log& log);

}  // namespace headrace::observe::calls
