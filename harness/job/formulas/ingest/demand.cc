// The job's demand for data: samples/s, bytes/s, and each sharer's part (A1-A4).
#include <cmath>

#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// A1: R = B / t [1/s]. Samples that must arrive per second so that no optimizer step waits.
double sample_rate_required(double global_batch_samples, double step_time) { return global_batch_samples / step_time; }
const Define<sample_rate_required> a1{{
    .id = "A1",
    .name = "sample_rate_required",
    .title = "Required sample rate",
    .equation = "B / t",
    .unit = "1/s",
    .validity = "Steady state; t is the step time without any stall.",
    .source = "definition; MLPS",
    .inputs = {{"global_batch_samples_count", "B"}, Input("step_time_s", "t").above(0)},
    .example = "global_batch_samples_count=2048 step_time_s=200ms",
}};

/// A2: B = b * a * G / (tp * pp * cp) [count]. Samples of one optimizer step. All ranks of a tensor x pipeline x
/// context group consume the same samples. So only G / (tp * pp * cp) replicas draw data. Rejected when that is not a
/// whole number.
double global_batch_samples(double gpus, double tensor, double pipeline, double context, double micro_batch,
                            double accumulation) {
  const double replica_gpus = tensor * pipeline * context;
  if (std::fmod(gpus, replica_gpus) != 0)
    throw DomainError("global_batch_samples: gpus_count must be divisible by tensor * pipeline * context");
  return micro_batch * accumulation * (gpus / replica_gpus);
}
const Define<global_batch_samples> a2{{
    .id = "A2",
    .name = "global_batch_samples",
    .title = "Global batch",
    .equation = "b * a * G / (tp * pp * cp)",
    .unit = "count",
    .validity = "All ranks of one tensor x pipeline x context group consume the same samples; "
                "expert parallelism does "
                "not divide the replicas.",
    .source = "MEG21",
    .inputs = {Input("gpus_count", "G").whole(),
               Input("tensor_parallel_count", "tp").whole().otherwise(1),
               Input("pipeline_parallel_count", "pp").whole().otherwise(1),
               Input("context_parallel_count", "cp").whole().otherwise(1),
               {"micro_batch_samples_count", "b"},
               Input("grad_accum_count", "a").whole().otherwise(1)},
    .example = "gpus_count=512 micro_batch_samples_count=4",
}};

/// A3: W = R * S * alpha * (1 - h) [B/s]. The required rate of storage. S is the mean stored size, h the share from a
/// cache. alpha >= 1 covers block rounding, over-read and repeated samples.
double read_bandwidth_required(double sample_rate, double sample_bytes, double read_amplification, double cache_hit) {
  return sample_rate * sample_bytes * read_amplification * (1 - cache_hit);
}
const Define<read_bandwidth_required> a3{{
    .id = "A3",
    .name = "read_bandwidth_required",
    .title = "Required read bandwidth",
    .equation = "R * S * alpha * (1 - h)",
    .unit = "B/s",
    .validity = "S is the mean of the stored (compressed) bytes; alpha is measured or computed, "
                "never below 1.",
    .source = "definition",
    .inputs = {{"sample_rate_per_s", "R"},
               {"sample_bytes", "S"},
               Input("read_amplification_ratio", "alpha").at_least(1).otherwise(1),
               Input("cache_hit_ratio", "h").at_most(1).otherwise(0)},
    .example = "sample_rate_per_s=10240/s sample_bytes=130kB",
}};

/// A4: w = W / k [B/s]. The even share of one of k nodes or GPUs.
double read_bandwidth_share(double total, double sharers) { return total / sharers; }
const Define<read_bandwidth_share> a4{{
    .id = "A4",
    .name = "read_bandwidth_share",
    .title = "Share of one node or GPU",
    .equation = "W / k",
    .unit = "B/s",
    .validity = "Even sharding; with a skewed sampler the largest share counts.",
    .source = "definition",
    .inputs = {{"total_bytes_per_s", "W"}, Input("sharers_count", "k").whole()},
    .example = "total_bytes_per_s=1.3312GB/s sharers_count=8",
}};

}  // namespace
}  // namespace headrace::job
