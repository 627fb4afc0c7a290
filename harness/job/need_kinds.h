// The properties of a need that every job shares: measurements, owner, report, and advice when it is missed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::job {

struct Job;
enum class Scope;

/// A workload's metric that measures a need, in jobs and scopes for which `when` holds.
struct Measure {
  enum class When {
    always,
    files,
    shards,
    indexed,
    tokens,
    no_files,
    objects,
    of_gpu,
    of_node,
    ring,
    no_ring,
    processes,
    threads
  };

  std::string_view metric = {};  // "small_file_read.read_bandwidth"
  When when = When::always;
  bool lower_bound = false;  // it does other work at the same time: more is available than it reports
  bool of_names = false;     // it reads files, and counts what it does with their names: memory may have those
};

/// Whose a resource is: all nodes' together (storage), each node's own (memory, cores), or each GPU's own (its links).
enum class Owner { all_nodes, node, gpu };

/// The phase of a job that a need decides how long it takes.
struct JobPhase {
  std::string_view name = {}, title = {};  // "cold_epoch", "Cold epoch"; "" = it decides none
  bool feeds_gpus = false;                 // GPUs wait when it falls short
  bool grows = true;                       // its demand grows with the number of GPUs
};

/// One row of the table of needs.
struct NeedKind {
  std::string_view id = {};               // "ingest.read_bandwidth"
  std::string_view name = {};             // "Bytes read": its name for people; "" = it is never judged
  std::vector<Measure> measured_by = {};  // in order of preference; none: it is reported, and never judged
  std::string_view cache = {};            // the cache state that it must be measured in: "cold", or "" = any
  Owner owner = Owner::all_nodes;
  /// "schedule": with each value of that parameter all have to meet the need, so that the worst of them answers. Of
  /// other settings the best does. "" = of all points the best.
  std::string_view worst_over = {};
  bool memory = false;         // reported in GiB, as memory is; all else in decimal units
  std::string_view mend = {};  // advice when it is missed; "" = none of its own
  JobPhase phase = {};
};

/// Are the loader's workers processes, which pass batches on through /dev/shm? Those of other kinds are threads.
bool loads_in_processes(const Job& job);

/// All rows, each id once.
std::span<const NeedKind> need_kinds();

/// The row of that name; nothing for needs that a configuration declares.
const NeedKind* find_need_kind(std::string_view id);

/// The row of a need that a job has; aborts when the table lacks it.
const NeedKind& need_kind(std::string_view id);

/// The measures that hold for this job and scope, best first.
std::vector<Measure> measures(const NeedKind& kind, Scope scope, const Job& job);

/// Is "small_file_read.open_rate" about names, whose proof of cold is another than that of the bytes?
bool is_of_names(std::string_view metric);

/// `value` as people read it. `unit` as in unit_name(), or "ns"; `name`: a need, or a metric "host_facts.free_space".
/// "22.1 GiB" for 23.7e9 B of host.prefetch_memory and of its measurements, "23.7 GB" for all that is no memory.
std::string format_named(double value, std::string_view unit, std::string_view name);

}  // namespace headrace::job
