// The parts of a phase's steps, in bounded memory, and the accelerator utilization that follows, three ways.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/workload/data/pipeline/step_clock.h"

namespace headrace::pipeline {

/// The account of one phase. Records are folded by pairs when they are full, so that no phase is too long.
class StepAccount {
 public:
  /// `compute_ns`: of one step by the job, all its batches.
  explicit StepAccount(std::uint64_t compute_ns = 0);

  /// `late_ns`: how much later than the step's end its sleeper woke. `ready`: batches that were ready when it began, as
  /// a share of those that can be.
  void add(const StepClock::Step& step, std::uint64_t late_ns, double ready) noexcept;

  /// After a step that is not the first: the GPUs were idle for `ns`, for a checkpoint.
  void stand(std::uint64_t ns) noexcept;

  /// At the end, for a step that did not end in time. The GPUs waited for data for `ns`, and nothing came.
  void starved(std::uint64_t ns) noexcept;

  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t began_ns() const noexcept { return began_ns_; }
  std::uint64_t compute_ns() const noexcept { return compute_ns_; }
  std::uint64_t starved_ns() const noexcept { return starved_ns_; }

  /// Steps that were reported together, each with all that its time went to [ns].
  struct Record {
    std::uint64_t steps = 0, time_ns = 0, wait_ns = 0, copy_ns = 0, host_ns = 0, late_ns = 0, save_ns = 0,
                  others_ns = 0;
    double ready = 0;  // summed
    void add(const Record& more) noexcept;
  };
  /// The first step, in which the pipeline was empty, and all others in their order.
  const Record& first() const noexcept { return first_; }
  const std::vector<Record>& others() const noexcept { return records_; }

 private:
  static constexpr std::size_t kRecords = 4096;

  std::uint64_t compute_ns_, began_ns_ = 0, steps_ = 0, fold_ = 1, starved_ns_ = 0;
  Record first_;
  std::vector<Record> records_;
};

/// Accelerator utilization and its parts. Ratios of time.
struct Utilization {
  std::uint64_t steps = 0;   // that count: all but the first
  double rule = 0;           // A21: the nominal compute time over the total, the first step left out
  double dlio = 0;           // as DLIO counts it: the sleep as measured over the total, both without the first step
  double ideal = 0;          // samples per second, the first step included, over those of GPUs that never wait
  double low = 0, high = 0;  // 95 % of `rule` over windows of the settled steps; equal to it where there are too few
  unsigned windows = 0;      // that the bounds come from; 0 = none
  double wait = 0;           // share of the time in which GPUs waited for data
  double copy = 0;           // share in which batches were copied to them
  double host = 0;           // share in which they waited for the host
  double save = 0;           // share in which they were idle for a checkpoint
  double others = 0;         // share in which they were done, and waited for other nodes' GPUs
  double ready = 0;          // batches that were ready when a step began, as a share of those that can be
};
/// `settling`: steps at the begin that were prepared while the first was waited for; windows begin after them.
Utilization utilization(const StepAccount& account, std::uint64_t settling);

/// The same, but all shares are of the steps after the start. The start is the first `filling`, prepared during the
/// wait for the first, and `settling` more. It is at most half of all. Of those, whole rounds of `filling` steps. An
/// unfinished step's waiting counts where it is longer than twice that of any other, as when storage stalls. Where
/// `settling` is no small part of the phase, utilization is the middle of that with and without it. Its bounds hold
/// both. Where nothing is left, utilization and waiting are of all steps with the first.
Utilization settled_utilization(const StepAccount& account, std::uint64_t filling, std::uint64_t settling);

/// Steps per second after the first `settling`, or of all where there are too few; 0 = fewer than two steps.
double settled_step_rate(const StepAccount& account, std::uint64_t settling);

}  // namespace headrace::pipeline
