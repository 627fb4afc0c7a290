// Runs a plan: every repetition through Google Benchmark, looks, cache states, proofs, verdicts.
#pragma once

#include <atomic>
#include <string>

#include "harness/engine/limits.h"
#include "harness/engine/plan/plan.h"
#include "harness/engine/run_result.h"
#include "harness/machine/node.h"

namespace headrace {

/// Gets the progress of a run; implemented by the command line. Called between timed regions only, except live() from a
/// separate thread while a phase runs.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void point_started(const Point&, std::size_t /*number*/, std::size_t /*total*/) {}
  virtual void data_progress(std::uint64_t /*done*/, std::uint64_t /*total*/, std::string_view /*what*/) {}
  virtual void repetition_started(const Point&, unsigned /*index*/, unsigned /*next_look*/) {}
  virtual void live(const Point&, const LiveRate&, double /*elapsed_s*/) {}
  virtual void repetition_done(const Point&, const Repetition&) {}
  virtual void point_done(const PointResult&) {}
  virtual void message(std::string_view /*text*/) {}
};

/// Set from a signal handler: the number of the first signal. The engine ends the current phase and keeps its results.
extern std::atomic<int> stop_signal;

/// Runs every point and judges every need. Never throws for a failing workload (the point has the error); throws
/// UsageError if the target is not headrace's. Ends early when a phase hangs: that point is an error with TIMEOUT.
RunResult run_plan(const Plan& plan, Node& node, RunObserver& observer, const EngineLimits& limits = {});

/// Worker threads that hung and were left behind. When there are any, the program must end by _Exit after its files are
/// written. They still use the backends and the plan's workloads.
unsigned abandoned_threads();

}  // namespace headrace
