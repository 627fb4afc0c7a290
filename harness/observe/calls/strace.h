// What strace wrote down: `strace -f -ttt -T -y -o FILE`, and without -y, without -o, or with less.
#pragma once

#include <string>
#include <vector>

#include "harness/observe/calls/call_log.h"

namespace headrace::observe::calls {

/// Paths that begin nowhere are taken from `folder`. Lines that say nothing are counted, and named in the notes. Throws
/// UsageError where a file cannot be read, or holds no call.
Log read_strace(const std::vector<std::string>& files, const std::string& folder);

}  // namespace headrace::observe::calls
