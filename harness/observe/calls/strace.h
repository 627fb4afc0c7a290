// Logs of strace: `strace -f -ttt -T -y -o FILE`, and without -y, without -o, with -ff, or with less.
#pragma once

#include <string>
#include <vector>

#include "harness/observe/calls/call_log.h"

namespace headrace::observe::calls {

/// Relative paths are taken from `folder`. Useless lines are counted, and named in the notes. Throws UsageError where a
/// file cannot be read, or holds no call. It also refuses relative times (strace -r), and
/// several files without the thread's number in their lines or names.
Log read_strace(const std::vector<std::string>& files, const std::string& folder);

}  // namespace headrace::observe::calls
