// The worker threads of one phase: set up untimed, released together, watched, and abandoned if
// they hang.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness/engine/limits.h"
#include "harness/machine/block_device.h"
#include "harness/record/recorder.h"

namespace headrace {
class Workload;
}

namespace headrace::engine {

struct PhaseRequest {
  std::shared_ptr<Workload> workload;
  unsigned phase = 0;
  unsigned repetition = 0;
  std::uint64_t seed = 0;
  double duration_s = 0;                        // 0 = the workload's own end
  std::optional<system::BlockDevice> device{};  // workers are pinned near it
  bool pinned = true;  // each worker to one processor; else where the launcher lets the process run
};

/// How a phase ended. Recorders are only there to be read when it did not hang: a hung thread may
/// still write.
struct PhaseEnd {
  enum class Kind { done, failed, interrupted, hung } kind = Kind::done;
  std::string error;  // failed: a worker's exception; hung: TIMEOUT and the workers that did not end
  std::vector<std::unique_ptr<Recorder>> recorders;
  std::uint64_t released_ns = 0;
  /// In stretches in which not even the watching thread ran: stopped (SIGSTOP), frozen, or long not scheduled.
  double stood_still_s = 0;
};

/// Called on the engine's thread when every worker waits for the start. `ready` gets the error that one of them threw,
/// or "". false = none starts. `ended` right after the last one. `live` some times a second with all workers' rates
/// since the last call and the time since the start.
struct PhaseHooks {
  std::function<bool(const std::string& error)> ready;
  std::function<void()> ended;
  std::function<void(const LiveRate& rate, double elapsed_s)> live;
};

/// Starts workload.workers() threads, pinned (if so, and they may be) round robin to the process's CPUs. before_run()
/// on each, then run() on all together. Returns when all have ended, or when they did not within the limits. Never
/// throws for their failures.
PhaseEnd run_phase(const PhaseRequest& request, const EngineLimits& limits, const PhaseHooks& hooks);

/// Lets go of a thread that hangs; it counts among abandoned_threads().
void leave_behind(std::thread& thread);

}  // namespace headrace::engine
