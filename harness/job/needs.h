// From the job to its needs: a metric, a value with unit and scope, and the formula that gave it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/job/job.h"

namespace headrace::job {

enum class Scope { cluster, node, gpu };
std::string_view to_string(Scope scope);

/// The collective that a need of the network is about, as the job does it.
struct JobCollective {
  double message = 0;   // bytes of one call, as message_size of the workloads that measure it
  double ranks = 0;     // of one group
  double stride = 1;    // from one rank of a group to the next, counted node by node
  double nodes = 1;     // of a group
  double wire = 0;      // bytes that each rank sends ...
  double hidden_s = 0;  // ... while other work hides this part of the time
  double times = 1;     // so often per step

  /// `message` as a whole number of floats, no more than all workloads can send at once.
  std::uint64_t message_size() const;
};

/// A value of the job that a need is about: a measurement with another value is no answer.
struct JobParameter {
  std::string name;  // of the workload's parameter: "nic_rate"
  std::string key;   // of the job: "cluster.nic_rate"
  double value = 0;  // SI
};

/// One requirement. Always "at least": a rate, free memory, free space or cores that must be
/// reached.
struct Need {
  std::string id;  // "ingest.read_bandwidth"
  Scope scope = Scope::node;
  double required = 0;      // SI, before the safety margin
  double need = 0;          // safety * required * (1 + uncertainty)
  double uncertainty = 0;   // relative standard uncertainty of `required`; 0 = every input exact
  std::string unit;         // "B/s", "1/s", "B", "count"
  std::string formula;      // "A3", or a chain: "F18 of F6"
  std::string equation;     // "R * S * alpha * (1 - h)"
  std::string named;        // "sample rate * sample bytes * read amplification * (1 - cache hit)"
  std::string substituted;  // "10240/s * 130 kB * 1 * (1 - 0)": the numbers put in
  std::vector<std::pair<std::string, double>> inputs;
  /// Workload metrics that measure it at node scope, best first: "small_file_read.read_bandwidth".
  std::vector<std::string> measured_by;
  std::vector<std::string> lower_bounds;  // of those: they do other work, too, and report less
  std::string cache;  // cache state that the measurement must have been proven in: "cold", or "" = any
  std::vector<JobParameter> measured_with;
  std::optional<JobCollective> collective;  // of the network's
  bool informative = false;                 // printed, never judged: a size, a time, a price, or nothing measures it
};

/// All needs of the job's table whose inputs are given, in the table's order.
std::vector<Need> derive_needs(const Job& job);

/// The same without the texts (equation, substituted, inputs): for sweeps over many jobs.
std::vector<Need> derive_need_values(const Job& job);

/// The needs of derive_needs() that a run judges: each once, per node where nodes have it. The cluster's own, and those
/// of single GPUs, which GPUs answer.
std::vector<Need> judged_needs(const Job& job);

/// A need that the job does not have, and the keys that would give it.
struct LockedNeed {
  std::string id;
  std::vector<std::string> missing;  // "dataset.cpu_time_per_sample"
};
std::vector<LockedNeed> locked_needs(const Job& job);

}  // namespace headrace::job
