// Examines a machine like an expert in slow storage and doubtful measurements.
#pragma once

#include <string>
#include <vector>

#include "harness/machine/limits.h"
#include "harness/machine/node.h"

namespace headrace::system {

/// One thing that was looked at.
struct Finding {
  enum class Level { good, note, warning, missing } level = Level::good;
  std::string section;  // "machine", "storage", "limits", "measuring aids", "backends"
  std::string subject;  // "read-ahead", "memlock", "io_uring"
  std::string text;     // the finding
  std::string advice;   // what to do; "" when nothing
};

/// Everything worth knowing before a run with its data at `path`, grouped by section. Writes
/// nothing, never throws.
std::vector<Finding> examine(const std::string& path, Node& node);

/// Can this user make files in the folder `path`, or in its nearest existing parent? Writes nothing.
bool may_write_below(const std::string& path);

/// What stops this process, and loaders whose workers are processes.
struct ProcessLimits {
  Limit files = limit_of(RLIMIT_NOFILE), locked = limit_of(RLIMIT_MEMLOCK);
  std::optional<SharedMemory> shared = shared_memory();
  TasksLeft tasks = tasks_left();
};
/// Findings of section "limits". Never throws.
std::vector<Finding> examine_limits(const ProcessLimits& limits = {});

}  // namespace headrace::system
