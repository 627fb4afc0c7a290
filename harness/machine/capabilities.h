// What this process may do, which its user's number does not report: root in a container may little.
#pragma once

#include <string>

namespace headrace::system {

/// CAP_IPC_LOCK over the whole machine: its locked memory has no limit. `root` is where /proc is looked for.
bool may_lock_all_memory(const std::string& root = "");

}  // namespace headrace::system
