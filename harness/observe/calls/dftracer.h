// Traces of DFTracer: .pfw and .pfw.gz, a line of JSON for each call, a file for each process. headrace's own traces
// are kept in the same form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/observe/calls/call_log.h"

namespace headrace::observe::calls {

/// Useless lines are counted, and named in the notes. Throws UsageError where a file cannot be read, or holds no call.
Log read_dftracer(const std::vector<std::string>& files);

/// The same of lines within a text: `name` is its name in words.
Log read_dftracer_text(const std::string& name, std::string_view text);

}  // namespace headrace::observe::calls
