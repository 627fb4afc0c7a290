// The part of a trace that can be repeated on other storage. It has each thread's accesses to data files, in order, and
// its computing between them. And writes of checkpoints, with their times.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/observe/calls/call_log.h"

namespace headrace::observe::replay {

enum class Op : std::uint8_t { open, read, seek, stat, close, create, write, sync, publish };
inline constexpr std::size_t kOps = 9;

struct Step {
  Op op = Op::open;
  std::uint32_t file = 0;    // into Plan::files; of a thread that writes into Plan::saves
  std::uint64_t bytes = 0;   // asked for, of reads; written, of writes
  std::uint64_t got = 0;     // by this read when it was observed
  std::int64_t offset = -1;  // -1: where the descriptor is
  double think_s = 0;        // computing before it
  double observed_s = 0;     // how long it took
  double at_s = 0;           // of a thread that writes: this time after the first access to data; below 0: before it
};

struct PlannedThread {
  int pid = 0;
  double first_s = 0, last_s = 0;  // of its accesses
  bool writes = false;             // saves; the same thread's reads are another's
  std::vector<Step> steps;
};

struct PlannedFile {
  std::string path;         // as it was observed
  std::string below;        // the same, below their common folder
  std::uint64_t bytes = 0;  // how large it must be at least
};

struct Plan {
  std::string folder;  // above all files
  std::vector<PlannedFile> files;
  std::vector<PlannedFile> saves;  // that were written, by their last name
  std::vector<PlannedThread> threads;
  double observed_s = 0;                          // from the first access to the end of the last
  bool think_known = false;                       // else nothing is computed between accesses
  std::map<std::string, std::uint64_t> left_out;  // why, and how many calls
  std::uint64_t bytes() const;                    // of all files, the most at one time
  std::size_t readers() const;                    // threads that read
};

/// The plan for files that were read and never written; programs and libraries are left out without a message.
/// `writes`: of files, too, that 1 MiB or more was written to.
Plan plan(const calls::Log& log, bool writes);

}  // namespace headrace::observe::replay
