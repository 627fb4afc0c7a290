// One worker's log of its work on each sample, in preallocated memory.
#pragma once

#include <cstdint>

#include "harness/record/pipeline_trace.h"

namespace headrace::pipeline {

/// For one worker and phase, on its own cache lines. Without room nothing is kept or counted. Nothing in add()
/// allocates, locks or reads a clock.
class alignas(128) SpanLog {
 public:
  using Stage = PipelineTrace::Stage;

  SpanLog() = default;
  /// Untimed: room for `spans`, whose pages are there afterwards.
  explicit SpanLog(std::size_t spans) : room_(spans) { kept_.spans.resize(spans); }

  void add(Stage stage, std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t batch,
           std::uint64_t sample) noexcept {
    if (room_ == 0) return;
    if (used_ == room_) {
      ++kept_.left_out;
      kept_.left_out_ns[static_cast<std::size_t>(stage)] += end_ns - begin_ns;
      return;
    }
    PipelineTrace::Span& span = kept_.spans[used_++];
    span.begin_ns = begin_ns;
    span.end_ns = end_ns;
    span.batch = static_cast<std::uint32_t>(batch);
    span.sample = static_cast<std::uint32_t>(sample) & 0xffffff;
    span.stage = static_cast<std::uint8_t>(stage);
  }
  bool keeps() const noexcept { return room_ > 0; }
  /// After the phase: a copy of the log.
  PipelineTrace::Worker worker() const {
    PipelineTrace::Worker one = kept_;
    one.spans.resize(used_);
    return one;
  }

 private:
  std::size_t room_ = 0, used_ = 0;
  PipelineTrace::Worker kept_;
};

}  // namespace headrace::pipeline
