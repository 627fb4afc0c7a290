// A described training job: what the user plans to run. Parsed completely, every problem told at
// once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/config/document.h"

namespace headrace::requirements {

enum class Layout { files, shards, tokens };
enum class Sharding { none, zero1, zero2, zero3 };

/// The job file's values in SI units. An empty optional = not given and no default.
/// job_keys.h names every key, its unit, range and default; docs/job.md shows them.
struct Job {
  std::string name;
  std::string description;
  struct Cluster {
    double nodes = 1, gpus_per_node = 1;
    std::optional<double> nics_per_node, nic_rate, gpu_price, mtbf;  // nic_rate [B/s], mtbf [s]
    double gpus() const { return nodes * gpus_per_node; }
  } cluster;
  struct Step {
    double time = 0, micro_batch = 1, accumulation = 1;
  } step;
  struct Dataset {
    Layout layout = Layout::files;
    std::optional<double> samples, decoded_size, cpu_time_per_sample;
    double sample_size = 0, samples_per_file = 1, request_size = 1 << 20, read_amplification = 1,
           metadata_ops_per_open = 4;
  } dataset;
  struct Loader {
    std::optional<double> workers_per_gpu;
    double prefetch_factor = 2, utilization = 0.8;
  } loader;
  struct Model {
    std::optional<double> parameters;
    double weight_bytes = 2, gradient_bytes = 2;
  } model;
  struct Parallelism {
    double tensor = 1, pipeline = 1, context = 1, expert = 1;
    Sharding sharding = Sharding::none;
    double window = 2.0 / 3, overlap = 0.9, exposed = 0;
  } parallelism;
  struct Checkpoint {
    double interval = 0;
    bool async = false;
    double stall = 0, bytes_per_parameter = 14, extra = 0, duty = 1, buffers = 1,
           weight_readers = 1, keep = 1;
    std::optional<double> restore;
  };
  std::optional<Checkpoint> checkpoint;
  struct Cache {
    double available = 0, reserve = 0;
  };
  std::optional<Cache> cache;
  double safety = 1.2;

  /// GPUs that hold one copy of the model, and copies that draw data of their own.
  double gpus_per_replica() const {
    return parallelism.tensor * parallelism.pipeline * parallelism.context;
  }
  double replicas() const { return cluster.gpus() / gpus_per_replica(); }

  /// Effective values by dotted path ("dataset.sample_size" -> "130000B"), defaults included: what
  /// ${job.dataset.sample_size} in a config stands for, and what run files keep.
  std::map<std::string, std::string> values;
  /// Standard deviations of values given as "130kB +- 10kB", by path, in the value's unit.
  std::map<std::string, double> spreads;
};

/// Reads a job file and applies "key=value" overrides. Throws UsageError with every problem.
Job load_job(const std::string& path, const std::vector<std::string>& overrides = {});

/// A job from a document that was read already; problems are added to `problems`, and the job is
/// only good when there are none.
Job parse_job(const config::Value& root, Diagnostics& problems);

}  // namespace headrace::requirements
