// What this machine is: everything that can change a result, in words, for run files, `doctor` and comparisons.
#pragma once

#include <string>
#include <vector>

#include "harness/node.h"
#include "harness/run_result.h"

namespace headrace::system {

/// Sections "host", "kernel", "cpu", "memory", "limits", "cgroup", "file_system" and "device" (of `path`), "backends".
/// What cannot be read is left out. Values are text as people read it. Never throws.
Fingerprint fingerprint(const std::string& path, Node& node);

/// One thing that doctor checked.
struct Finding {
  enum class Level { good, note, warning, missing } level = Level::good;
  std::string subject;  // "io_uring", "read-ahead", "memlock", "reports"
  std::string text;     // what was found
  std::string advice;   // what to do; "" when nothing
};
std::vector<Finding> examine(const std::string& path, Node& node);

}  // namespace headrace::system
