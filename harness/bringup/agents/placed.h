// Files that every process of a run on several hosts reads, under one path on all of them.
#pragma once

#include <string>

namespace headrace::agents {

// Data that runs made on this host, taken away as `headrace clean` does.

/// The remaining entries, in words; "" = none. Goes on when the result is no longer needed: otherwise data would stay.
std::string remove_scratch(const std::string& folder);

inline constexpr const char* kFolderKind = "agent";  // in the mark of folders that agents write
inline constexpr const char *kConfigFile = "points.yaml", *kJobFile = "job.yaml", *kScratch = "scratch";

struct Placed {
  std::string folder;       // absolute
  std::string config, job;  // YAML; "" = none
};

/// Throws RunError, UsageError where it cannot be.
void place(const Placed& files);
/// Removes the files of place(), and those of runs there.
void take_away(const Placed& files);

}  // namespace headrace::agents
