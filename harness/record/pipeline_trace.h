// The timeline of a pipeline's workers and their GPUs: every step in little room, and every sample on request.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace headrace {

/// The trace of one phase. Times are from the begin of the first step [s].
struct PipelineTrace {
  /// Steps that are reported together.
  struct Window {
    double begin_s = 0, end_s = 0;
    std::uint64_t steps = 0;
    double ready = 0;  // batches that are ready when a step begins, as a share of those that can be
    double waiting = 0, copying = 0, host = 0, saving = 0, others = 0;  // shares of the time
  };
  /// One step, each of whose parts is the mean of the GPUs.
  struct Step {
    std::uint64_t number = 0;  // from 0
    double begin_s = 0, end_s = 0;
    double wait_s = 0;    // for data
    double copy_s = 0;    // for copies of batches to them
    double host_s = 0;    // for a host that was late
    double others_s = 0;  // for the GPUs of other nodes, after its own were done
    double save_s = 0;    // their idle time after it, for a checkpoint
    double ready = 0;
  };
  double compute_s = 0;         // of one step by the job; 0 = batches are taken as they come
  std::vector<Window> windows;  // of all steps, in order
  std::vector<Step> first;      // the first steps
  std::vector<Step> slowest;    // of all but the first one, those that took the longest, in order of their number

  enum class Stage : std::uint8_t { reading, decoding, waiting };
  static constexpr std::size_t kStages = 3;
  /// A worker's stage for one sample; waiting: until it could begin a batch.
  struct Span {
    std::uint64_t begin_ns = 0, end_ns = 0;  // CLOCK_MONOTONIC
    std::uint32_t batch = 0;                 // of this worker
    std::uint32_t sample : 24 = 0;           // of the batch
    std::uint32_t stage : 8 = 0;             // a Stage
  };
  /// The spans of one worker, in order, and those without room.
  struct Worker {
    std::vector<Span> spans;
    std::uint64_t left_out = 0, left_out_ns[kStages] = {};
  };
  std::uint64_t began_ns = 0;   // of the first step, CLOCK_MONOTONIC
  std::vector<Worker> workers;  // empty: not asked for
  std::vector<Step> steps;      // the same: every step that there was room for
};

}  // namespace headrace
