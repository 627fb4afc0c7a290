// What this machine is: everything that can change a result, in words, for run files and
// comparisons.
#pragma once

#include <string>

#include "harness/engine/run_result.h"
#include "harness/node.h"

namespace headrace::system {

/// Sections "host", "kernel", "cpu", "memory", "limits", "cgroup", "file_system" and "device" (of
/// `path`), "backends", and one for each GPU ("gpu0"). What cannot be read is left out. Values are text as people read it. Never
/// throws.
Fingerprint fingerprint(const std::string& path, Node& node);

}  // namespace headrace::system
