// A described training job, as the user plans it. Parsed completely, every problem reported at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/base/config/document.h"

namespace headrace::job {

enum class Layout { files, shards, tokens };
enum class Sharding { none, zero1, zero2, zero3 };
enum class ContextMethod { ring, ulysses };
enum class CachePolicy { lru, pinned, cooperative };
/// The readers: processes that each prepare a batch at a time and deliver in order. Such with shards of their own. A
/// pipeline of tf.data. An engine that keeps requests in flight.
enum class LoaderKind { pytorch, pytorch_iterable, tfdata, in_flight };
/// The calls that reach the kernel for a sample: docs/reference/job.md reports each.
enum class ReadProfile { whole, pil, wds, mds, mmap, row_group, npz, ranged };
/// The format that workers decode; none: samples are used as they are read.
enum class SampleCodec { none, jpeg, png, zstd, npz };

/// The job file's values in SI units. An empty optional = not given and no default.
/// job_keys.h names every key, its unit, range and default; docs/reference/job-keys.md shows them.
struct Job {
  std::string name;
  std::string description;
  struct Cluster {
    double nodes = 1, gpus_per_node = 1;
    std::optional<double> nics_per_node, nic_rate, gpu_price, gpu_flops;
    std::optional<double> mtbf, reference_mtbf, reference_gpus, restart, run_time;
    double gpus() const { return nodes * gpus_per_node; }
  } cluster;
  struct Step {
    double time = 0, micro_batch = 1, accumulation = 1;
    std::optional<double> mfu, utilization;
    double target_utilization = 0.9;
  } step;
  struct Dataset {
    Layout layout = Layout::files;
    ReadProfile read_profile = ReadProfile::whole;  // not given: as in layout
    SampleCodec codec = SampleCodec::none;
    std::string path;  // of a data set that is there already; "" = none
    std::optional<double> samples, decoded_size, cpu_time_per_sample, image_size;
    std::optional<double> format_overhead;  // [B] headers and padding of a sample in a shard
    double sample_size = 0, samples_per_file = 1, request_size = 1 << 20, read_amplification = 1,
           metadata_ops_per_open = 4;
    /// The stored and read size of one sample [B].
    double stored_size() const { return sample_size + (layout == Layout::shards ? format_overhead.value_or(0) : 0); }
    /// Of one read [B]: Mosaic Streaming asks for a sample at a time.
    double request() const { return read_profile == ReadProfile::mds ? stored_size() : request_size; }
  } dataset;
  struct Loader {
    std::optional<double> workers_per_gpu, shuffle_buffer, shuffle_initial, cpu_time_per_batch;
    double prefetch_factor = 2, utilization = 0.8;
    LoaderKind kind = LoaderKind::pytorch;
    bool skips_bad_samples = false;
  } loader;
  struct Model {
    std::optional<double> parameters, active_parameters;
    double weight_bytes = 2, gradient_bytes = 2, activation_bytes = 2;
    std::optional<double> layers, hidden, ffn, heads, kv_heads, vocabulary, sequence_length, experts, top_k;
  } model;
  struct Parallelism {
    double tensor = 1, pipeline = 1, context = 1, expert = 1;
    Sharding sharding = Sharding::none;
    double window = 2.0 / 3, overlap = 0.9, exposed = 0, virtual_stages = 1, bucket = 25 << 20;
    ContextMethod context_method = ContextMethod::ring;
    std::optional<double> tensor_time, expert_time, expert_nodes;
  } parallelism;
  struct Checkpoint {
    double interval = 0;
    bool async = false;
    double stall = 0, bytes_per_parameter = 14, extra = 0, duty = 1, buffers = 1, weight_readers = 1, keep = 1;
    double overhead = 0, restore_overhead = 0;
    std::optional<double> restore, waste;
  };
  std::optional<Checkpoint> checkpoint;
  struct Cache {
    double available = 0, reserve = 0;
  };
  std::optional<Cache> cache;
  struct LocalCache {
    double capacity = 0;
    CachePolicy policy = CachePolicy::pinned;
    std::string path;  // of its folder on each node, which a rehearsal fills; "" = none is
    std::optional<double> write_rate, remote_rate;
  };
  std::optional<LocalCache> local_cache;
  struct ObjectStore {
    double first_byte_latency = 0.1, stream_rate = 87.5e6, prefix_limit = 5500, connection_rate = 87.5e6,
           shards_per_worker = 4;
    std::optional<double> request_size, request_price, capacity_price;
  };
  std::optional<ObjectStore> object_store;
  struct Fabric {
    double oversubscription = 1, crossing = 0, nic_efficiency = 0.96;
    std::optional<double> intra_busbw, switch_ports, tiers;
  };
  std::optional<Fabric> fabric;
  double safety = 1.2;

  /// GPUs that hold one copy of the model, and copies that draw data of their own.
  double gpus_per_replica() const { return parallelism.tensor * parallelism.pipeline * parallelism.context; }
  double replicas() const { return cluster.gpus() / gpus_per_replica(); }

  /// Effective values by dotted path ("dataset.sample_size" -> "130000B"), defaults included: the values of
  /// ${job.dataset.sample_size} in a config and in run files.
  std::map<std::string, std::string> values;
  /// Standard deviations of values given as "130kB +- 10kB", by path, in the value's unit.
  std::map<std::string, double> spreads;
  /// Paths whose values were not given and follow from others: step.time (A13), model.parameters
  /// (E2), cluster.mtbf (E14), dataset.read_profile (of the layout).
  std::set<std::string> derived;
};

/// Reads a job file and applies "key=value" overrides. Throws UsageError with every problem.
Job load_job(const std::string& path, const std::vector<std::string>& overrides = {});

/// A job from a document that was read already. Problems are added to `problems`, and the job is only good when there
/// are none.
Job parse_job(const config::Value& root, Diagnostics& problems);

/// Headers and padding of a sample are at most this, or the size of the sample. More is another sample size [B].
inline constexpr double kMostHeaders = 8192;

/// The counted overhead of a shard's format per sample [B].
void set_format_overhead(Job& job, double bytes);

/// Computes (anew) the values in `derived`, and those not given that can be derived. Throws
/// DomainError.
void derive_values(Job& job);

}  // namespace headrace::job
