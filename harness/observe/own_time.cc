#include "harness/observe/own_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/observe/gpus.h"

namespace headrace::observe {
namespace {

constexpr double kClose = 0.1;  // of the higher bound: what the GPU's computing leaves open is no matter

}  // namespace

OwnTime find_own_time(const Observation& seen) {
  const Share* const found = share_named(seen.consumer, "processor");
  if (found == nullptr) return {};
  const Share busy = *found;
  const double blocked = value_of(seen.consumer, "gpu") + value_of(seen.consumer, "pause");
  OwnTime own{.known = true, .value = busy.value, .low = busy.low, .high = busy.high, .evidence = {}};
  if (blocked >= busy.value) {
    own.evidence = fmt::format(
        "it slept or waited in its GPU's driver for {:.1f} %, and so does not spin until that is ready", blocked * 100);
    return own;
  }
  const std::optional<Share> gpu = lone_gpu_busy(seen);
  own.low = gpu ? std::max(0.0, busy.low - gpu->high) : 0;
  if (gpu && busy.high - own.low <= kClose * busy.high) {
    own.value = (own.low + busy.high) / 2;
    own.evidence = fmt::format("its GPU computed for {:.1f} %, and may have been waited for by spinning no longer",
                               gpu->value * 100);
    return own;
  }
  own.known = false;
  own.low = 0;  // drivers tell how busy a GPU is in whole percent of their own moments
  own.evidence = gpu ? fmt::format(
                           "its GPU computed for {:.1f} % meanwhile: how much of it was spinning until that was ready "
                           "cannot be told",
                           gpu->value * 100)
                     : "whether it took batches, computed its step or spun until a GPU was ready cannot be told where "
                       "no driver says "
                       "how busy that is";
  return own;
}

}  // namespace headrace::observe
