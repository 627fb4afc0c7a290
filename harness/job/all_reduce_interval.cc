#include "harness/job/all_reduce_interval.h"

namespace headrace::job {

AllReduceInterval all_reduce_interval(const AllReduceGroup& group, double message_bytes) {
  const auto time = [&](double share, double latencies, double launch, double estimate) {
    return apply("F28", {{"message_bytes", message_bytes},
                         {"ranks_count", group.ranks},
                         {"nodes_count", group.nodes},
                         {"gpu_generation", group.generation},
                         {"intra_bytes_per_s", share * group.intra},
                         {"node_network_bytes_per_s", share * group.network},
                         {"latency_scale_ratio", latencies},
                         {"launch_time_s", launch},
                         {"estimate", estimate}});
  };
  return {.fastest = time(1, 1, 0, 1), .slowest = time(kSoundShare, kSlowestLatency, kLaunch, 2)};
}

}  // namespace headrace::job
