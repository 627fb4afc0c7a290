// How long an all-reduce takes at least and at most where everything is sound.
#pragma once

#include "harness/job/formula.h"

namespace headrace::job {

/// Ranks that reduce together. `generation` as F28 orders them. `intra`: NCCL's rate of a GPU's NVLinks [B/s, one way].
/// `network`: the rate of large messages over a node's NICs that these ranks use [B/s, one way].
struct AllReduceGroup {
  double ranks = 2, nodes = 1, generation = 0, intra = 0, network = 0;
};

/// The interval of F28. The fastest: its least in a CUDA graph. The slowest: its most, launched, with latencies
/// kSlowestLatency times NCCL's own and kSoundShare of the rates.
struct AllReduceInterval {
  Applied fastest, slowest;
};
inline constexpr double kSlowestLatency = 2, kSoundShare = 0.8, kLaunch = 5e-6;

/// Throws DomainError where F28 does.
AllReduceInterval all_reduce_interval(const AllReduceGroup& group, double message_bytes);

}  // namespace headrace::job
