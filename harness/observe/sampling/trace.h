// The data set by a trace of every call on a file.
#pragma once

#include <string>
#include <vector>

#include "harness/observe/calls/call_log.h"
#include "harness/observe/observation.h"

namespace headrace::observe {

/// Replaces estimates by counts. `began_s`: when its first call began, since the observation did. `commands`: of the
/// watched processes, whose scripts are no data.
void apply_trace(const calls::Log& log, Observation& seen, double began_s = 0,
                 const std::vector<std::string>& commands = {});

}  // namespace headrace::observe
