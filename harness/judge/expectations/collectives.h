// All-reduce of a node's GPUs by size, from what its NVLinks carry: before anything was measured, and beside it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/expectations/parts.h"
#include "harness/judge/verdict/record.h"

namespace headrace::expectations {

/// Time of one size. Fastest: F28 in a CUDA graph, with NCCL's own latencies and all that its links carry. Slowest:
/// launched, with latencies kSlowestLatency times those and kSoundShare of the links.
struct AllReduceTime {
  double bytes = 0, fastest_s = 0, slowest_s = 0;
  double busbw(double seconds) const { return seconds > 0 ? factor * bytes / seconds : 0; }
  double factor = 0;  // F1
};
inline constexpr double kSlowestLatency = 2, kSoundShare = 0.8, kLaunch = 5e-6;

struct AllReduceProspect {
  unsigned gpus = 0;
  std::string links;                 // "18 links of NVLink 4"
  std::vector<AllReduceTime> sizes;  // 1 KiB to 8 GiB, each 8 times the one before
};

/// Of all GPUs that have NVLinks; nothing where they are fewer than two or not alike, or NCCL's constants do not have
/// their generation.
std::optional<AllReduceProspect> all_reduce_prospect(std::span<const Part> parts);

/// The same of one size, of `gpus` GPUs with such links.
std::optional<AllReduceTime> all_reduce_time(const Part& nvlink, unsigned gpus, double bytes);

/// A measured all-reduce beside its interval. A transport that fell back shows as slower.
struct MeasuredAllReduce {
  std::string point;
  double time_s = 0;  // the median of what counts
  AllReduceTime expected;
  std::string_view standing() const {  // "within" | "slower" | "faster"
    return time_s > expected.slowest_s ? "slower" : time_s < expected.fastest_s ? "faster" : "within";
  }
};
/// Of the points of nccl_all_reduce whose one group lies on one node, in their order; none without parts as above.
std::vector<MeasuredAllReduce> measured_all_reduces(std::span<const Part> parts,
                                                    std::span<const judging::RecordedPoint> points);

}  // namespace headrace::expectations
