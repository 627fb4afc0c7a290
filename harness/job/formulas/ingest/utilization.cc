// Epoch time and accelerator utilization from compute and I/O (A14-A18).
#include <algorithm>

#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// A14: t_e = max(n / R, D * (1 - h) / W) [s]. An epoch takes as long as the slower of compute and
/// supply.
double epoch_time(double samples, double dataset_bytes, double compute_rate, double supply, double cache_hit) {
  return std::max(samples / compute_rate, dataset_bytes * (1 - cache_hit) / supply);
}
const Define<epoch_time> a14{{
    .id = "A14",
    .name = "epoch_time",
    .title = "Epoch time",
    .equation = "max(n / R, D * (1 - h) / W)",
    .unit = "s",
    .validity = "Compute and reading overlap fully.",
    .source = "DSTALL section 5",
    .inputs = {{"dataset_samples_count", "n"},
               {"dataset_bytes", "D"},
               Input("compute_sample_rate_per_s", "R").above(0),
               Input("supply_bytes_per_s", "W").above(0),
               Input("cache_hit_ratio", "h").at_most(1).otherwise(0)},
    .example = "dataset_samples_count=1281167 dataset_bytes=166.55171GB compute_sample_rate_per_s=10240/s "
               "supply_bytes_per_s=650MB/s",
}};

/// A15: AU = t_c / max(t_c, t_io) [ratio]. Best case: I/O hides behind compute as far as it can.
double au_overlapped(double compute, double io) { return compute / std::max(compute, io); }
const Define<au_overlapped> a15{{
    .id = "A15",
    .name = "au_overlapped",
    .title = "Accelerator utilization, overlapped",
    .equation = "t_c / max(t_c, t_io)",
    .unit = "ratio",
    .validity = "Ideal prefetch. The share of time that GPUs stall is 1 minus this.",
    .source = "DSTALL; MLPS section 4",
    .inputs = {Input("compute_time_s", "t_c").above(0), {"io_time_s", "t_io"}},
    .example = "compute_time_s=200ms io_time_s=400ms",
}};

/// A16: AU = t_c / (t_c + t_io) [ratio]. Worst case: nothing is prefetched.
double au_serial(double compute, double io) { return compute / (compute + io); }
const Define<au_serial> a16{{
    .id = "A16",
    .name = "au_serial",
    .title = "Accelerator utilization, serial",
    .equation = "t_c / (t_c + t_io)",
    .unit = "ratio",
    .validity = "No prefetch (no loader workers).",
    .source = "MLPS section 4",
    .inputs = {Input("compute_time_s", "t_c").above(0), {"io_time_s", "t_io"}},
    .example = "compute_time_s=200ms io_time_s=100ms",
}};

/// A17: t = max(t_c, t_io) + (1 - omega) * min(t_c, t_io) [s]. Between A15 (omega = 1) and A16
/// (omega = 0).
double step_time_partial_overlap(double compute, double io, double overlap) {
  return std::max(compute, io) + (1 - overlap) * std::min(compute, io);
}
const Define<step_time_partial_overlap> a17{{
    .id = "A17",
    .name = "step_time_partial_overlap",
    .title = "Step time, partial overlap",
    .equation = "max(t_c, t_io) + (1 - omega) * min(t_c, t_io)",
    .unit = "s",
    .validity = "Fit omega from one measured run.",
    .source = "derived",
    .inputs = {{"compute_time_s", "t_c"}, {"io_time_s", "t_io"}, Input("overlap_ratio", "omega").at_most(1)},
    .example = "compute_time_s=200ms io_time_s=400ms overlap_ratio=0.9",
}};

/// A18: AU = min(1, W_sup / W) [ratio]. A15 in rates: storage's supply over the job's demand.
double au_from_rates(double supply, double demand) { return std::min(1.0, supply / demand); }
const Define<au_from_rates> a18{{
    .id = "A18",
    .name = "au_from_rates",
    .title = "Accelerator utilization from supply and demand",
    .equation = "min(1, W_sup / W)",
    .unit = "ratio",
    .validity = "Ideal prefetch, as A15.",
    .source = "DSTALL section 5",
    .inputs = {{"supply_bytes_per_s", "W_sup"}, Input("demand_bytes_per_s", "W").above(0)},
    .example = "supply_bytes_per_s=650MB/s demand_bytes_per_s=1.3312GB/s",
}};

}  // namespace
}  // namespace headrace::job
