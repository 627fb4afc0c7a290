// All-reduce by size, from the bandwidth of NVLinks and the network: before anything is measured, and compared with it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/expectations/parts.h"
#include "harness/judge/verdict/record.h"

namespace headrace::expectations {

/// Time of one size (job::AllReduceInterval).
struct AllReduceTime {
  double bytes = 0, fastest_s = 0, slowest_s = 0;
  double busbw(double seconds) const { return seconds > 0 ? factor * bytes / seconds : 0; }
  double factor = 0;  // F1
};

struct AllReduceProspect {
  unsigned gpus = 0;
  std::string links;                 // "18 links of NVLink 4"
  std::vector<AllReduceTime> sizes;  // 1 KiB to 8 GiB, each 8 times the one before
};

/// The prospect for all GPUs that have NVLinks. Nothing where they are fewer than two or not alike, or NCCL's constants
/// do not have their generation.
std::optional<AllReduceProspect> all_reduce_prospect(std::span<const Part> parts);

/// GPUs that reduce together. `node_network`: the rate of all NICs of a node that its GPUs use [B/s, one way].
struct Together {
  unsigned gpus = 0, nodes = 1;
  double node_network = 0;
};
/// The same of one size, of GPUs with such links. Nothing where the nodes are unlike, or their network is not known.
std::optional<AllReduceTime> all_reduce_time(const Part& nvlink, const Together& together, double bytes);

/// A measured all-reduce with its interval.
struct MeasuredAllReduce {
  std::string point{};
  double time_s = 0;  // the median of the counting repetitions
  AllReduceTime expected;
  std::string links{};      // of several nodes: "8 RDMA ports, 3.2 Tbit/s"
  std::string transport{};  // of a slower one over several nodes: whether its time suggests TCP instead of RDMA
  std::string_view standing() const {  // "within" | "slower" | "faster"
    return time_s > expected.slowest_s ? "slower" : time_s < expected.fastest_s ? "faster" : "within";
  }
};
/// The points of nccl_all_reduce with one group, in their order; none without parts as above. Other nodes are taken for
/// nodes like this one.
std::vector<MeasuredAllReduce> measured_all_reduces(std::span<const Part> parts,
                                                    std::span<const judging::RecordedPoint> points);

}  // namespace headrace::expectations
