// The needs of decoding and batching: CPU cores, memory and limits of processes (B1-B4, B13, B14).
#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// B1: S_d = E * epsilon [B]. Size of a decoded sample of E elements.
double decoded_sample_bytes(double elements, double element_bytes) { return elements * element_bytes; }
const Define<decoded_sample_bytes> b1{{
    .id = "B1",
    .name = "decoded_sample_bytes",
    .title = "Decoded sample size",
    .equation = "E * epsilon",
    .unit = "B",
    .validity = "Converting to float on the GPU keeps epsilon at 1.",
    .source = "definition",
    .inputs = {{"elements_count", "E"}, {"element_bytes", "epsilon"}},
    .example = "elements_count=150528 element_bytes=4B",
}};

/// B2: n = ceil(R * tau / eta) [count]. Cores that decode a node's samples, each planned at
/// utilization eta.
double cpu_cores_required(double node_sample_rate, double cpu_time, double utilization) {
  return round_up(node_sample_rate * cpu_time / utilization);
}
const Define<cpu_cores_required> b2{{
    .id = "B2",
    .name = "cpu_cores_required",
    .title = "CPU cores for preprocessing",
    .equation = "ceil(R * tau / eta)",
    .unit = "count",
    .validity = "tau is in core-seconds per sample, measured; published pipelines need 3 to 24 "
                "cores per GPU.",
    .source = "DSTALL section 4.3",
    .inputs = {{"node_sample_rate_per_s", "R"},
               {"cpu_time_per_sample_s", "tau"},
               Input("target_utilization_ratio", "eta").above(0).at_most(1)},
    .example = "node_sample_rate_per_s=10240/s cpu_time_per_sample_s=10ms target_utilization_ratio=0.8",
}};

/// B3: w = ceil(R * tau / eta) [count]. Loader workers of one rank; tau includes the time blocked
/// on I/O.
double num_workers_required(double rank_sample_rate, double wall_time, double utilization) {
  return round_up(rank_sample_rate * wall_time / utilization);
}
const Define<num_workers_required> b3{{
    .id = "B3",
    .name = "num_workers_required",
    .title = "Loader workers per rank",
    .equation = "ceil(R * tau / eta)",
    .unit = "count",
    .validity = "tau is wall time; the sum over ranks must still fit the cores of B2.",
    .source = "Little's law; PT-DL",
    .inputs = {{"rank_sample_rate_per_s", "R"},
               {"wall_time_per_sample_s", "tau"},
               Input("target_utilization_ratio", "eta").above(0).at_most(1)},
    .example = "rank_sample_rate_per_s=1280/s wall_time_per_sample_s=12ms target_utilization_ratio=0.9",
}};

/// B4: M = r * w * p * b * S_d [B]. Most memory that the prefetched batches of r ranks can hold.
double prefetch_memory(double ranks, double workers, double prefetch_factor, double batch_samples, double decoded) {
  return ranks * workers * prefetch_factor * batch_samples * decoded;
}
const Define<prefetch_memory> b4{{
    .id = "B4",
    .name = "prefetch_memory",
    .title = "Prefetch memory",
    .equation = "r * w * p * b * S_d",
    .unit = "B",
    .validity = "Upper bound, in shared memory; a pinned copy of at most as much can exist, too.",
    .source = "PT-DL",
    .inputs = {{"ranks_count", "r"},
               {"workers_count", "w"},
               {"prefetch_factor_count", "p"},
               {"batch_samples_count", "b"},
               {"decoded_sample_bytes", "S_d"}},
    .example = "ranks_count=8 workers_count=8 prefetch_factor_count=2 batch_samples_count=256 "
               "decoded_sample_bytes=602112B",
}};

/// B13: n = r * (w + 1) [count]. Processes of r ranks with w loader workers each.
double loader_processes(double ranks, double workers) { return ranks * (workers + 1); }
const Define<loader_processes> b13{{
    .id = "B13",
    .name = "loader_processes",
    .title = "Processes of ranks and loader workers",
    .equation = "r * (w + 1)",
    .unit = "count",
    .validity = "Lower bound: limits count threads, too, and a rank or worker has several.",
    .source = "PT-DL",
    .inputs = {{"ranks_count", "r"}, {"workers_count", "w"}},
    .example = "ranks_count=8 workers_count=8",
}};

/// B14: n = w * (p + 3) [count]. Open files of a rank: one for each prefetched batch, and each worker's index queue and
/// sentinel.
double loader_files(double workers, double prefetch_factor) { return workers * (prefetch_factor + 3); }
const Define<loader_files> b14{{
    .id = "B14",
    .name = "loader_files",
    .title = "Open files of a rank for its loader workers",
    .equation = "w * (p + 3)",
    .unit = "count",
    .validity = "Lower bound: a batch of several tensors has a file for each.",
    .source = "PT-DL",
    .inputs = {{"workers_count", "w"}, {"prefetch_factor_count", "p"}},
    .example = "workers_count=8 prefetch_factor_count=2",
}};

}  // namespace
}  // namespace headrace::job
