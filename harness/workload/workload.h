// A workload: parameters, a check, preparation, the timed region, its own metrics. One file each.
#pragma once

#include <algorithm>
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
#include "harness/base/units.h"
#include "harness/machine/node.h"
#include "harness/record/data_report.h"
#include "harness/record/metric.h"
#include "harness/record/params.h"
#include "harness/record/recorder.h"
#include "harness/record/repetition.h"
#include "harness/record/worker.h"
#include "harness/workload/abilities.h"
#include "harness/workload/registry.h"

namespace headrace {

/// A stretch of a repetition that is timed on its own (an epoch; before, during and after a checkpoint).
struct PhaseSpec {
  std::string name;
  bool keeps_cache = false;  // starts with the cache of the phase before: not re-made, not proven
  bool varies = false;       // changes as it goes, and the change is measured: not judged for steadiness
  bool differs = false;      // another operation than the other phases: then only latency_parts() are reported
};

/// The life of one point (a workload with one set of parameters):
///   constructor(Params&)   declares every parameter; no I/O
///   check                  can it run here?
///   prepare                once, untimed: makes or opens its data, allocates; then it searches settings if asked
///                          (SearchesSettings), and its ranks connect with each other (JoinsRanks)
///   per repetition and phase: engine re-makes the cache state, then before_phase (untimed),
///     then before_run (untimed) on each of workers() threads, and run() on the same threads, which start together:
///     the timed region and nothing else
///   report                 per repetition: own metrics
///   verify                 once, untimed, if asked: checks the data
///   cleanup                once; gives memory back. A need that was missed is measured once more after a rest: then
///     prepare, repetitions and cleanup follow again
/// What only some can do is in abilities.h. At most 16 virtual functions: tests/rules counts them.
class Workload {
 public:
  static constexpr WorkloadTraits kTraits{};  // a workload that differs has its own
  virtual ~Workload() = default;
  virtual std::optional<Skip> check(Node&) { return std::nullopt; }
  virtual Footprint footprint() const { return {}; }
  virtual unsigned workers() const { return 1; }
  /// Names of the extra latency channels: {"open", "read", "close"} gives open_latency_p99_ns and so on.
  virtual std::vector<std::string> latency_parts() const { return {}; }
  virtual std::vector<PhaseSpec> phases() const { return {{"main", false}}; }
  virtual void prepare(Node&, const DataProgress&) {}
  virtual void before_phase(unsigned /*phase*/, unsigned /*repetition*/, std::uint64_t /*seed*/) {}
  /// On the worker's own thread, before the clock starts: binds per-thread objects to that thread (a ring, a device).
  virtual void before_run(Worker&) {}
  virtual void run(Worker& worker) = 0;
  /// Called after the last phase of a repetition; every metric name must be in the catalogue.
  virtual void report(const Repetition& repetition, MetricSink& sink) const = 0;
  /// Why the repetitions so far report no `metric`, where that depends on the machine: for its user.
  virtual std::string why_missing(std::string_view /*metric*/) const { return ""; }
  /// Data check, untimed; returns the wrong blocks, empty = every byte is right.
  virtual std::vector<WrongBlock> verify(const DataProgress&) { return {}; }
  /// Things the reader should know of how it was done ("no huge pages: ordinary pages"), asked after prepare and run.
  virtual std::vector<std::string> notes() { return {}; }
  virtual void cleanup(Node&) {}
};

inline bool phases_differ(const Workload& workload) {
  const std::vector<PhaseSpec> phases = workload.phases();
  return std::any_of(phases.begin(), phases.end(), [](const PhaseSpec& phase) { return phase.differs; });
}

/// The workload's ability of that kind; the defaults of the kind, where it has none.
template <class Ability>
Ability& as(Workload& workload) {
  static Ability none;
  auto* const own = dynamic_cast<Ability*>(&workload);
  return own ? *own : none;
}
template <class Ability>
const Ability& as(const Workload& workload) {
  return as<Ability>(const_cast<Workload&>(workload));
}

}  // namespace headrace
