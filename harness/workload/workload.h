// What a workload is: parameters, a check, preparation, the timed region, its own metrics. One file each.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/footprint.h"
#include "harness/base/skip.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"
#include "harness/record/cache_state.h"
#include "harness/record/data_report.h"
#include "harness/record/facts.h"
#include "harness/record/fault_counts.h"
#include "harness/record/file_table.h"
#include "harness/record/metric.h"
#include "harness/record/params.h"
#include "harness/record/ranks/rank_groups.h"
#include "harness/record/recorder.h"
#include "harness/record/repetition.h"
#include "harness/record/trial.h"
#include "harness/record/worker.h"
#include "harness/workload/registry.h"

namespace headrace {

class DataSet;
struct PipelineTrace;

/// A stretch of a repetition that is timed on its own (an epoch; before, during and after a checkpoint).
struct PhaseSpec {
  std::string name;
  bool keeps_cache = false;  // starts with whatever the phase before left in the cache: not re-made, not proven
  bool varies = false;       // changes as it goes, and that is what is measured: not judged for steadiness
};

/// The life of one point (a workload with one set of parameters):
///   constructor(Params&)   declares every parameter; no I/O
///   check                  can it run here?
///   prepare, search        once, untimed: makes or opens its data, allocates; searches settings if asked
///   connect                once, untimed, of several ranks: all together, after the last one has prepared
///   per repetition and phase: engine re-makes the cache state, then before_phase (untimed),
///     then before_run (untimed) on each of workers() threads, and run() on the same threads, which start together:
///     the timed region and nothing else
///   report                 per repetition: own metrics
///   verify                 once, untimed, if asked: checks the data
///   cleanup                once; gives memory back. A need that was missed is measured once more after a rest: then
///     prepare, repetitions and cleanup follow again
class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::optional<Skip> check(Node&) { return std::nullopt; }
  virtual Footprint footprint() const { return {}; }
  virtual unsigned workers() const { return 1; }
  /// So many of workers(), the last ones, do something else beside what is measured: a checkpoint that is written
  /// while others read. What they record is kept apart, as PhaseResult::background.
  virtual unsigned background_workers() const { return 0; }
  /// May each thread be kept on a processor of its own? Not those that stand for processes which the scheduler moves: two
  /// that must share one processor would wait for each other while another is idle.
  virtual bool threads_stay() const { return true; }
  /// Names of the extra latency channels: {"open", "read", "close"} gives open_latency_p99_ns and so on.
  virtual std::vector<std::string> latency_parts() const { return {}; }
  virtual std::vector<PhaseSpec> phases() const { return {{"main", false}}; }
  /// True when each phase does another operation: the latencies of all together then say nothing, and only those of
  /// latency_parts() are reported.
  virtual bool phases_differ() const { return false; }
  /// True when a repetition can only ever give the same values (cores there are, free space): one is enough, and its
  /// value is its own bound.
  virtual bool deterministic() const { return false; }
  /// Cache states that make sense, the first being the default; empty = none (asis, and `cache:` is refused).
  virtual std::vector<CacheState> cache_states() const { return {}; }
  virtual void prepare(Node&, const DataProgress&) {}
  /// Once, untimed, after prepare: finds the best settings by trials, where the config asks for it.
  virtual void search(const RunTrial&) {}
  /// Of several ranks: makes the connections between them that running needs. Throws RunError.
  virtual void connect(Node&) {}
  /// The data set that is read, if it is one; nullptr = none.
  virtual const DataSet* data() const { return nullptr; }
  /// The files whose cache state the engine makes and proves, and whose names errors report, where they are no data set.
  virtual const FileTable* files() const { return nullptr; }
  virtual CacheUse cache_use() const { return {}; }
  virtual void before_phase(unsigned /*phase*/, unsigned /*repetition*/, std::uint64_t /*seed*/) {}
  /// On the worker's own thread, before the clock starts: binds to that thread what belongs to one (a ring, a device).
  virtual void before_run(Worker&) {}
  virtual void run(Worker& worker) = 0;
  /// Called after the last phase of a repetition; every metric name must be in the catalogue.
  virtual void report(const Repetition& repetition, MetricSink& sink) const = 0;
  /// Why the repetitions so far report no `metric`, where that depends on the machine: for whoever needs it.
  virtual std::string why_missing(std::string_view /*metric*/) const { return ""; }
  /// The devices that this point measures one by one ("gpu0"), known from prepare on and after cleanup still: a metric
  /// marked per_device may also be put for each of them, as device_metric(name, device).
  virtual std::vector<std::string> devices() const { return {}; }
  /// What the repetition that has just run gave for each pair of nodes, at the first rank of the team.
  virtual std::optional<PairMatrix> pairs() const { return std::nullopt; }
  /// Of ranks that wait for each other, so that all are as fast: which one held back the others in the repetition that has
  /// just run, as a place in the team. Nothing: their rates report.
  virtual std::optional<unsigned> slowest() const { return std::nullopt; }
  virtual AcrossRanks across_ranks() const { return AcrossRanks::add; }
  /// What other programs did to the workload's own device in the repetition that has just run; "" = nothing. Asked once per
  /// repetition, before report.
  virtual std::string disturbance() { return ""; }
  /// What is broken of the machine, where one occurrence is a fault. Asked after each repetition, and after a preparation that
  /// failed, unless it hangs.
  virtual std::vector<PartFault> faults() { return {}; }
  /// A stretch of the repetition that has just run, item by item and stage by stage, where items go through a pipeline.
  virtual std::vector<StageSpan> stages() const { return {}; }
  /// Before prepare: of every sample what was done with it, and when, is wanted of each repetition. False: it has no
  /// pipeline of samples.
  virtual bool keep_trace() { return false; }
  /// What the steps of the repetition that has just run were spent on, with every sample where that was wanted; nullptr
  /// where there are no steps.
  virtual std::shared_ptr<const PipelineTrace> trace() const { return nullptr; }
  /// What `prepare` left out for want of time or room, and what that does not show of what was asked for, in a sentence;
  /// "" = nothing.
  virtual std::string unproven() const { return ""; }
  /// Data check, untimed; returns what is wrong, empty = every byte is right.
  virtual std::vector<WrongBlock> verify(const DataProgress&) { return {}; }
  /// Things the reader should know of how it was done ("no huge pages: ordinary pages"), asked after prepare and run.
  virtual std::vector<std::string> notes() { return {}; }
  /// The same by name ("algorithm", "NVLS"), for the run file and for whoever compares: asked when notes are.
  virtual Facts facts() { return {}; }
  /// It drives all devices of a node by itself, so that several processes of one node would share them: unless
  /// `processes` says otherwise, one of each node takes part.
  virtual bool one_per_node() const { return false; }
  /// The groups in which ranks work together; nothing where they do not. Known from prepare on.
  virtual std::optional<GroupShape> group() const { return std::nullopt; }
  virtual void cleanup(Node&) {}
};

}  // namespace headrace
