// Every workload registers itself: name, one line, metrics, and how to make one.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/metric.h"
#include "harness/record/params.h"
#include "harness/record/repetition.h"

namespace headrace {

class Workload;

/// Properties of a workload that do not depend on its parameters.
struct WorkloadTraits {
  /// A repetition always gives the same values (number of cores, free space). One is enough, and its value is its own
  /// bound.
  bool deterministic = false;
  /// It drives all devices of a node by itself, so that several processes of one node would share them. Unless
  /// `processes` is set, one of each node takes part.
  bool one_per_node = false;
  /// Each thread may be kept on a processor of its own. Not if threads represent processes that the scheduler moves.
  /// Two that must share one processor would wait for each other while another is idle.
  bool threads_stay = true;
  AcrossRanks across_ranks = AcrossRanks::add;
};

struct WorkloadInfo {
  std::string_view name;         // snake_case; `use:` in a config
  std::string_view description;  // one line: the question it answers
  std::span<const Metric> metrics;
  std::unique_ptr<Workload> (*make)(Params&);
  WorkloadTraits traits{};
};

/// All workloads, by name. A duplicate name aborts at start: our own bug.
class Registry {
 public:
  static Registry& instance();
  void add(const WorkloadInfo& info);
  const WorkloadInfo* find(std::string_view name) const;
  const std::vector<WorkloadInfo>& all() const { return workloads_; }  // sorted by name
  std::vector<std::string> names() const;

 private:
  std::vector<WorkloadInfo> workloads_;
};

/// The metrics that the engine adds to every workload: latency_p50_ns ... latency_max_ns,
/// elapsed_s, cpu_s.
std::span<const Metric> standard_metrics();

/// A catalogue entry that owns its words.
struct MetricInfo {
  std::string name, unit;
  Better better = Better::higher;
  std::string description;
};

/// Every metric a point of this workload can report: its own and the standard ones. Those marked per_device are there
/// for each of `devices` (UsesDevices::devices()), too. For each of `latency_parts` (Workload::latency_parts()) there
/// is PART_latency_p50_ns ... PART_latency_max_ns. In the order in which they are reported.
std::vector<MetricInfo> metric_catalogue(const WorkloadInfo& info, std::span<const std::string> latency_parts,
                                         std::span<const std::string> devices);

/// The share of a percentile metric's name ("latency_p999_ns": 0.999), or nothing. Such a metric needs at least 10/(1 -
/// share) operations per repetition (rule 20).
std::optional<double> percentile_of(std::string_view metric_name);

/// `const Register<ReadRandom> registered{"read_random", "random reads of ..."};` at namespace
/// scope. W has a constructor from Params&, a static `std::span<const Metric> metrics()`, and its kTraits if they differ.
template <class W>
struct Register {
  Register(std::string_view name, std::string_view description) {
    Registry::instance().add({name, description, W::metrics(),
                              [](Params& p) -> std::unique_ptr<Workload> { return std::make_unique<W>(p); },
                              W::kTraits});
  }
};

}  // namespace headrace
