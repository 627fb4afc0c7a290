// The steps of a phase that are reported singly: the first, the slowest, and all where there is room.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "harness/record/pipeline_trace.h"
#include "harness/workload/data/pipeline/step_account.h"
#include "harness/workload/data/pipeline/step_clock.h"

namespace headrace::pipeline {

/// Nothing in add() allocates, locks or reads a clock.
class StepLog {
 public:
  static constexpr std::size_t kShown = 16;     // of the first, and of the slowest
  static constexpr std::size_t kWindows = 200;  // of all steps

  /// `room`: steps that are kept one by one; 0 = the first and the slowest alone.
  explicit StepLog(std::size_t room = 0) : room_(room) { all_.reserve(room); }

  void add(const StepClock::Step& step, double ready) noexcept;
  /// After the last added step the GPUs were idle for `ns`, for a checkpoint.
  void stand(std::uint64_t ns) noexcept;
  /// After the phase, of whose steps `account` reports: windows, first and slowest steps, and all that were kept.
  PipelineTrace trace(const StepAccount& account) const;

 private:
  struct Entry {
    std::uint64_t number = 0;
    StepClock::Step step;
    double ready = 0;
    std::uint64_t save_ns = 0;
  };
  static std::uint64_t took(const Entry& e) noexcept { return e.step.end_ns - e.step.begin_ns; }

  std::size_t room_;
  std::uint64_t steps_ = 0;
  std::array<Entry, kShown> first_{}, slowest_{};
  std::size_t slowest_used_ = 0, quickest_ = 0;  // the second: which of slowest_ took the shortest
  std::vector<Entry> all_;
};

}  // namespace headrace::pipeline
