// Abilities of only some workloads. Such a workload derives from these, too; the engine checks by
// as<Ability>(workload).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/node.h"
#include "harness/record/cache_state.h"
#include "harness/record/facts.h"
#include "harness/record/fault_counts.h"
#include "harness/record/file_table.h"
#include "harness/record/ranks/rank_groups.h"
#include "harness/record/repetition.h"
#include "harness/record/trial.h"

namespace headrace {

class DataSet;
struct PipelineTrace;

/// Reads files or objects.
class ReadsFiles {
 public:
  virtual ~ReadsFiles() = default;
  /// Cache states that make sense, the first being the default; empty = none (asis, and `cache:` is refused).
  virtual std::vector<CacheState> cache_states() const { return {}; }
  /// The data set that is read, if it is one; nullptr = none.
  virtual const DataSet* data() const { return nullptr; }
  /// The files whose cache state the engine makes and proves. Errors report their names, if they are no data set.
  virtual const FileTable* files() const { return nullptr; }
  virtual CacheUse cache_use() const { return {}; }
};

/// Works on devices, such as GPUs.
class UsesDevices {
 public:
  virtual ~UsesDevices() = default;
  /// The devices that this point measures one by one ("gpu0"), known from prepare until after cleanup. A metric marked
  /// per_device may also be put for each of them, as device_metric(name, device).
  virtual std::vector<std::string> devices() const { return {}; }
  /// Other programs' use of the devices in the repetition that has just run; "" = none. Asked once per repetition,
  /// before report.
  virtual std::string disturbance() { return ""; }
  /// Broken parts of the machine, where one occurrence is a fault. Called after each repetition, and after a
  /// preparation that failed, unless it hangs.
  virtual std::vector<PartFault> faults() { return {}; }
};

/// Its ranks work with each other.
class JoinsRanks {
 public:
  virtual ~JoinsRanks() = default;
  /// Makes the connections between ranks that running needs. Throws RunError.
  virtual void connect(Node&) {}
  /// The groups in which ranks work together; nothing where they do not. Known from prepare on.
  virtual std::optional<GroupShape> group() const { return std::nullopt; }
  /// The rates of each pair of nodes in the last repetition, at the first rank of the team.
  virtual std::optional<PairMatrix> pairs() const { return std::nullopt; }
  /// For ranks that wait for each other, so that all are equally fast. The rank that held back the others in the last
  /// repetition, as a place in the team. Nothing: their rates report it.
  virtual std::optional<unsigned> slowest() const { return std::nullopt; }
};

/// Writes checkpoints.
class SavesCheckpoints {
 public:
  virtual ~SavesCheckpoints() = default;
  /// This many of workers(), the last ones, write while the others read. Their records are kept apart, as
  /// PhaseResult::background.
  virtual unsigned background_workers() const { return 0; }
  /// What `prepare` left out for lack of time or room, and what stays unproven, in a sentence; "" = nothing.
  virtual std::string unproven() const { return ""; }
};

/// Moves items through the stages of a pipeline.
class TracesItems {
 public:
  virtual ~TracesItems() = default;
  /// A stretch of the repetition that has just run, item by item and stage by stage.
  virtual std::vector<StageSpan> stages() const { return {}; }
  /// Before prepare: each repetition shall record every sample. False: it has no pipeline of samples.
  virtual bool keep_trace() { return false; }
  /// The time of the steps of the repetition that has just run, with every sample if keep_trace() was called. Nullptr
  /// if there are no steps.
  virtual std::shared_ptr<const PipelineTrace> trace() const { return nullptr; }
};

/// Finds its best settings by trials.
class SearchesSettings {
 public:
  virtual ~SearchesSettings() = default;
  /// Once, untimed, after prepare, where the config asks for it.
  virtual void search(const RunTrial&) {}
};

/// Reports by name how it was done ("algorithm", "NVLS"), for the run file and for comparisons.
class ReportsFacts {
 public:
  virtual ~ReportsFacts() = default;
  virtual Facts facts() { return {}; }  // asked when notes are
};

}  // namespace headrace
