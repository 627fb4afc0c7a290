// Every call of a command that concerns a file, by a shim that is loaded into its processes (preload/).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/system/unique_fd.h"
#include "harness/observe/calls/call_log.h"

namespace headrace::observe {

class TraceMemory {
 public:
  /// Throws RunError where there is no shim in this build, or no memory of that kind.
  explicit TraceMemory(std::uint64_t bytes = std::uint64_t{256} << 20);
  TraceMemory(const TraceMemory&) = delete;
  TraceMemory& operator=(const TraceMemory&) = delete;

  /// The variables for the command's environment.
  std::vector<std::pair<std::string, std::string>> environment() const;
  /// The calls of all processes; of a running one, its calls so far.
  calls::Log read() const;

 private:
  /// The command can open this memory and cut it short: reading it mapped would end in SIGBUS.
  std::vector<char> copy() const;

  std::string shim_;
  system::UniqueFd fd_;
  std::uint64_t bytes_ = 0;
};

}  // namespace headrace::observe
