// The figures by which MLPerf Storage judges a submission (A19-A22).
#include <algorithm>

#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// A19: W = au_min * n * b * S / t_comp [B/s]. Read rate at which n emulated accelerators just
/// reach au_min.
double mlperf_required_bandwidth(double accelerators, double batch_samples, double sample_bytes, double computation,
                                 double au_min) {
  return au_min * accelerators * batch_samples * sample_bytes / computation;
}
const Define<mlperf_required_bandwidth> a19{{
    .id = "A19",
    .name = "mlperf_required_bandwidth",
    .title = "Bandwidth to pass MLPerf Storage",
    .equation = "au_min * n * b * S / t_comp",
    .unit = "B/s",
    .validity = "au_min is 0.90 for 3D U-Net and ResNet-50, 0.70 for CosmoFlow.",
    .source = "MLPS sections 2.1 and 4",
    .inputs = {Input("accelerators_count", "n").whole(),
               {"batch_samples_count", "b"},
               {"sample_bytes", "S"},
               Input("computation_time_s", "t_comp").above(0),
               Input("au_min_ratio", "au_min").at_most(1)},
    .example = "accelerators_count=8 batch_samples_count=7 sample_bytes=146600628B "
               "computation_time_s=323ms "
               "au_min_ratio=0.9",
}};

/// A20: n_s = max(500 * b * n, ceil(5 * H * mem / S)) [count]. Enough samples that client memory cannot hold them.
double mlperf_min_samples(double accelerators, double batch_samples, double sample_bytes, double hosts,
                          double host_memory) {
  constexpr double kMinSteps = 500, kMemoryMultiple = 5;  // fixed by the rules
  return std::max(kMinSteps * batch_samples * accelerators,
                  round_up(kMemoryMultiple * hosts * host_memory / sample_bytes));
}
const Define<mlperf_min_samples> a20{{
    .id = "A20",
    .name = "mlperf_min_samples",
    .title = "MLPerf minimum data set",
    .equation = "max(500 * b * n, ceil(5 * H * mem / S))",
    .unit = "count",
    .validity = "mem is the memory of one host in bytes (GiB times 2^30); defeats client caching, see C2.",
    .source = "MLPS section 7",
    .inputs = {Input("accelerators_count", "n").whole(),
               {"batch_samples_count", "b"},
               Input("sample_bytes", "S").above(0),
               Input("hosts_count", "H").whole(),
               {"host_memory_bytes", "mem"}},
    .example = "accelerators_count=8 batch_samples_count=400 sample_bytes=114660.07B hosts_count=4 "
               "host_memory_bytes=512GiB",
}};

/// A21: AU = n_s / (n * b) * t_comp * E / t_total [ratio]. Emulated compute time as a share of the
/// run.
double mlperf_accelerator_utilization(double samples, double accelerators, double batch_samples, double computation,
                                      double epochs, double total) {
  return samples / (accelerators * batch_samples) * computation * epochs / total;
}
const Define<mlperf_accelerator_utilization> a21{{
    .id = "A21",
    .name = "mlperf_accelerator_utilization",
    .title = "MLPerf accelerator utilization",
    .equation = "n_s / (n * b) * t_comp * E / t_total",
    .unit = "ratio",
    .validity = "The first step is left out of t_total; only full steps count.",
    .source = "MLPS section 4; DLIO",
    .inputs = {{"samples_count", "n_s"},
               Input("accelerators_count", "n").whole(),
               Input("batch_samples_count", "b").above(0),
               {"computation_time_s", "t_comp"},
               {"epochs_count", "E"},
               Input("total_time_s", "t_total").above(0)},
    .example = "samples_count=28000 accelerators_count=8 batch_samples_count=7 "
               "computation_time_s=323ms epochs_count=5 "
               "total_time_s=900s",
}};

/// A22: G = floor(W_sup / (AU * w)) [count]. GPUs that a storage system can feed at utilization AU.
double gpus_supported(double supply, double demand_per_gpu, double au_target) {
  return round_down(supply / (au_target * demand_per_gpu));
}
const Define<gpus_supported> a22{{
    .id = "A22",
    .name = "gpus_supported",
    .title = "GPUs that a storage system can feed",
    .equation = "floor(W_sup / (AU * w))",
    .unit = "count",
    .validity = "Supply scales linearly up to W_sup; check G6.",
    .source = "MLPS section 7",
    .inputs = {{"supply_bytes_per_s", "W_sup"},
               Input("demand_per_gpu_bytes_per_s", "w").above(0),
               Input("au_target_ratio", "AU").above(0).at_most(1)},
    .example = "supply_bytes_per_s=2GB/s demand_per_gpu_bytes_per_s=166.4MB/s au_target_ratio=1",
}};

}  // namespace
}  // namespace headrace::job
