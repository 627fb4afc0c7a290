// A machine looked at by somebody who knows what makes storage slow, or a measurement doubtful.
#pragma once

#include <string>
#include <vector>

#include "harness/machine/node.h"

namespace headrace::system {

/// One thing that was looked at.
struct Finding {
  enum class Level { good, note, warning, missing } level = Level::good;
  std::string section;  // "machine", "storage", "limits", "means", "backends"
  std::string subject;  // "read-ahead", "memlock", "io_uring"
  std::string text;     // what was found
  std::string advice;   // what to do; "" when nothing
};

/// Everything worth knowing before a run with its data at `path`, grouped by section. Writes
/// nothing, never throws.
std::vector<Finding> examine(const std::string& path, Node& node);

}  // namespace headrace::system
