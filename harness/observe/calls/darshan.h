// Darshan's logs, by the Python package of that name.
#pragma once

#include <string>

#include "harness/observe/calls/call_log.h"

namespace headrace::observe::calls {

/// Throws UsageError where the log cannot be read, RunError where no Python has the package: what to install is reported.
Log read_darshan(const std::string& file);

}  // namespace headrace::observe::calls
