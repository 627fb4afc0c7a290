// Checkpoints that are saved while a pipeline runs: every that many steps, each rank on a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>

#include "harness/record/recorder.h"
#include "harness/workload/data/checkpoint_saver.h"
#include "harness/workload/data/pipeline/bell.h"

namespace headrace::pipeline {

/// For one phase. Synchronous saves keep the GPUs until all ranks' shards are durable. Asynchronous ones until each is
/// copied in memory, and the one before is durable.
class SavesInLoop final : private checkpoint::Staged {
 public:
  /// `saver` is filled. One save every `every` steps, the first after half of that. So the steps have then lost as much
  /// to saves as in the long run.
  SavesInLoop(checkpoint::Saver& saver, std::uint64_t every) noexcept : saver_(saver), every_(every) {}

  // The GPUs, on their thread.

  /// Is one due after `steps` steps? Not after the first, which no utilization counts.
  bool due(std::uint64_t steps) const noexcept {
    return steps > 1 && (steps + every_ / 2) % every_ == 0 && !failed_.load();
  }
  /// Begins one and waits for as long as training does, or until `recorder` has no time left. Returns when the GPUs
  /// continue [ns].
  std::uint64_t save(const Recorder& recorder) noexcept;
  /// There will be no more. A save in progress is ended by the ranks' recorders alone.
  void end() noexcept;

  /// Rank `rank`, on its thread: saves until end(). Throws RunError that names the file.
  void run(unsigned rank, Recorder& recorder);

  // After the phase.

  /// Saves that became durable, and the sum of their times from begin to there [ns].
  std::uint64_t durable() const noexcept { return done_; }
  std::uint64_t durable_ns() const noexcept { return done_ns_; }

 private:
  void staged() noexcept override;
  void finished(bool whole) noexcept;
  bool wait_for(const std::atomic<unsigned>& none_left, const Recorder& recorder) noexcept;

  checkpoint::Saver& saver_;
  const std::uint64_t every_;
  std::atomic<std::uint32_t> asked_{0};  // saves; ranks sleep on it
  std::atomic<bool> over_{false}, failed_{false}, cut_{false};
  // The ranks in the present save that have not copied, are not durable, and have not released the one before.
  std::atomic<unsigned> copying_{0}, writing_{0}, busy_{0};
  Bell gpus_;
  std::uint64_t begun_ns_ = 0, done_ = 0, done_ns_ = 0;
};

}  // namespace headrace::pipeline
