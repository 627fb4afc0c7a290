// What of a trace can be done again on another storage: each thread's accesses to data files, in their order, and what it
// computed between them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/observe/calls/call_log.h"

namespace headrace::observe::replay {

enum class Op : std::uint8_t { open, read, seek, stat, close };
inline constexpr std::size_t kOps = 5;

struct Step {
  Op op = Op::open;
  std::uint32_t file = 0;    // into Plan::files
  std::uint64_t bytes = 0;   // asked for, of reads
  std::uint64_t got = 0;     // by this read when it was observed
  std::int64_t offset = -1;  // -1: where the descriptor stands
  double think_s = 0;        // computing before it
  double observed_s = 0;     // how long it took
};

struct PlannedThread {
  int pid = 0;
  double first_s = 0, last_s = 0;  // of its accesses
  std::vector<Step> steps;
};

struct PlannedFile {
  std::string path;         // as it was observed
  std::string below;        // the same, below the folder that all of them lie in
  std::uint64_t bytes = 0;  // how large it must be at least
};

struct Plan {
  std::string folder;  // that all files lie below
  std::vector<PlannedFile> files;
  std::vector<PlannedThread> threads;
  double observed_s = 0;                          // from the first access to the end of the last
  bool think_known = false;                       // else nothing is computed between accesses
  std::map<std::string, std::uint64_t> left_out;  // why, and how many calls
  std::uint64_t bytes() const;                    // of all files
};

/// Of files that were read and never written; programs and libraries are left out without a word.
Plan plan(const calls::Log& log);

}  // namespace headrace::observe::replay
