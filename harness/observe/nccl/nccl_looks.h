// Asks NCCL again and again about the progress of a job's ranks, in its own thread. Any watched process may answer.
#pragma once

#include <memory>
#include <string>

#include "harness/observe/beside.h"
#include "harness/observe/nccl/nccl_seen.h"

namespace headrace::observe {

class NcclLooks {
 public:
  /// `proc`: "/proc". `began_ns`: the zero of times (CLOCK_MONOTONIC).
  NcclLooks(const std::string& proc, std::uint64_t began_ns);
  NcclLooks(const NcclLooks&) = delete;

  /// A process of the job.
  void watch(int pid);
  /// The answers until now. Files of Inspector are read here: a few seconds at most.
  NcclSeen take();
  double cpu_s() const { return thread_.cpu_s(); }

 private:
  struct Found;
  class Asking;

  std::shared_ptr<Found> found_;
  Beside thread_;
};

}  // namespace headrace::observe
