// Every call of a command that concerns a file, by a shim that is loaded into its processes (preload/), and what follows for the
// data set.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/observe/observation.h"
#include "harness/system/unique_fd.h"

namespace headrace::observe {

struct TracedFile {
  std::uint64_t opens = 0, reads = 0, read_bytes = 0, attributes = 0, closes = 0, seeks = 0, maps = 0;
  std::uint64_t writes = 0, written_bytes = 0, syncs = 0;
  double read_s = 0, open_s = 0;  // spent in these calls
  std::string renamed_to;
};

struct Trace {
  std::map<std::string, TracedFile> files;
  std::map<std::uint64_t, std::uint64_t> read_sizes;  // asked for, of files that are data
  std::uint64_t opens_in_order = 0,
                opens_followed = 0;  // opens of data by a process after another: by name behind that
  std::uint64_t calls = 0, dropped = 0;
};

class TraceMemory {
 public:
  /// Throws RunError where there is no shim in this build, or no memory of that kind.
  explicit TraceMemory(std::uint64_t bytes = std::uint64_t{256} << 20);
  ~TraceMemory();
  TraceMemory(const TraceMemory&) = delete;
  TraceMemory& operator=(const TraceMemory&) = delete;

  /// What the command's environment has to say.
  std::vector<std::pair<std::string, std::string>> environment() const;
  /// Of all processes that wrote; of one that still runs, what it wrote so far.
  Trace read() const;

 private:
  std::string shim_;
  system::UniqueFd fd_;
  char* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Puts what was counted in place of what was estimated.
void apply_trace(const Trace& trace, Observation& seen);

}  // namespace headrace::observe
