#include "harness/observe/sampling/own_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/observe/learning/shares.h"
#include "harness/observe/sampling/gpus.h"

namespace headrace::observe {
namespace {

constexpr double kTick = 0.01;  // processor time is reported in [s]
constexpr double kClose = 0.1;  // of the processor time: what the GPU's computing leaves open is no matter

/// The kernel's counts of all threads of the processes that take batches. Threads next to the first are included.
Share counted(const std::vector<const Slice*>& slices, const Roles& roles) {
  double seconds = 0;
  Share share = share_over(slices, "processor", [&](const Slice& slice) {
    PartAndWhole sum;
    for (const ProcessSlice& one : slice.processes)
      if (roles.is_consumer(one.process)) {
        sum.part += one.counted.user_s + one.counted.system_s;
        sum.whole += slice.seconds();
      }
    seconds += sum.whole;
    return sum;
  });
  if (seconds > 0) {
    share.low = std::max(0.0, share.low - kTick / seconds);
    share.high += kTick / seconds;
  }
  return share;
}

}  // namespace

OwnTime find_own_time(const Recording& recording, const std::vector<const Slice*>& slices, const Observation& seen) {
  // A look may find a thread running that only just got ready. Counts include threads that none waits for, and recorded
  // calls have none.
  const Share* const looked = share_named(seen.training, "processor");
  if (looked == nullptr) return {};
  const Share count = counted(beside_saves(recording, slices), seen.roles);
  const double part = 1 - seen.standing_still.value,
               blocked = part * (value_of(seen.training, "gpu") + value_of(seen.training, "pause"));
  Share busy = recording.machine_seen && count.value < looked->value ? count : *looked;
  // Both are the most that it may be: where they differ, it may be less by as much.
  if (recording.machine_seen) busy.low = std::max(0.0, busy.low - std::abs(count.value - looked->value));
  for (double* one : {&busy.value, &busy.low, &busy.high}) *one *= part;
  OwnTime own{.known = true, .value = busy.value, .low = busy.low, .high = busy.high, .evidence = {}};
  if (blocked >= busy.value) {
    own.evidence = fmt::format(
        "it slept or waited in its GPU's driver for {:.1f} %, and so does not spin until that is ready", blocked * 100);
    return own;
  }
  const std::optional<Share> gpu = lone_gpu_busy(seen);
  own.low = gpu ? std::max(0.0, busy.low - gpu->high) : 0;
  if (gpu && gpu->high <= kClose * busy.value) {
    own.value = std::max(0.0, busy.value - gpu->value / 2);
    own.evidence = fmt::format("its GPU computed for {:.1f} %, and may have been waited for by spinning no longer",
                               gpu->value * 100);
    return own;
  }
  own.known = false;
  own.low = 0;  // drivers show how busy a GPU is in whole percent of their own moments
  own.evidence =
      gpu ? fmt::format("its GPU computed for {:.1f} % of it: the share of spinning for the GPU is unknown",
                        gpu->value * 100)
          : "taking batches, computing and spinning for a GPU look alike where no driver reports how busy the GPU is";
  return own;
}

}  // namespace headrace::observe
