// Asks NCCL again and again how far the ranks of a job are, in a thread of its own, wherever a watched process answers for it.
#pragma once

#include <memory>
#include <string>

#include "harness/observe/beside.h"
#include "harness/observe/nccl/nccl_seen.h"

namespace headrace::observe {

class NcclLooks {
 public:
  /// `proc`: "/proc". `began_ns`: what times are counted from (CLOCK_MONOTONIC).
  NcclLooks(const std::string& proc, std::uint64_t began_ns);
  NcclLooks(const NcclLooks&) = delete;

  /// A process of the job.
  void watch(int pid);
  /// What was seen until now. Files of Inspector are read here: a few seconds at most.
  NcclSeen take();
  double cpu_s() const { return thread_.cpu_s(); }

 private:
  struct Found;
  class Asking;

  std::shared_ptr<Found> found_;
  Beside thread_;
};

}  // namespace headrace::observe
