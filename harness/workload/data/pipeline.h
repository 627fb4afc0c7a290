// A training job's input pipeline on one node. Each emulated GPU has a loader with its own workers, and all GPUs step
// together. The caller reads and decodes; this part decides how far each worker may read ahead, and records the waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "harness/record/recorder.h"
#include "harness/workload/data/pipeline/batch_queue.h"
#include "harness/workload/data/pipeline/bell.h"
#include "harness/workload/data/pipeline/decode.h"
#include "harness/workload/data/pipeline/limiting_stage.h"
#include "harness/workload/data/pipeline/saves_in_loop.h"
#include "harness/workload/data/pipeline/span_log.h"
#include "harness/workload/data/pipeline/step_account.h"
#include "harness/workload/data/pipeline/step_barrier.h"
#include "harness/workload/data/pipeline/step_clock.h"
#include "harness/workload/data/pipeline/step_log.h"
#include "harness/workload/data/pipeline/training_process.h"

// Copies of batches to the GPUs that compute with them, as a training loop makes them before each batch.
namespace headrace::pipeline {
/// On the one thread that hands batches over. Nothing here waits, allocates or throws; the implementer keeps its
/// errors.
class BatchCopies {
 public:
  virtual ~BatchCopies() = default;
  /// Begins the copy of one batch to `gpu`, which has none under way.
  virtual void begin(std::size_t gpu) noexcept = 0;
  /// How long the copy took [ns], once it has arrived, or failed; nothing before.
  virtual std::optional<std::uint64_t> arrived(std::size_t gpu) noexcept = 0;
};

}  // namespace headrace::pipeline

namespace headrace {

/// For one phase; made untimed.
class Pipeline {
 public:
  struct Shape {
    unsigned gpus = 1;
    unsigned workers = 1;           // of each GPU
    unsigned ahead = 2;             // begun and untaken batches of each worker, or pieces
    std::uint64_t pieces = 1;       // handed-over pieces make a batch
    unsigned batches_per_step = 1;  // of each GPU
    std::uint64_t compute_ns = 0;   // of one batch; 0 = batches are taken as fast as they come
    std::uint64_t taking_ns = 0;    // of a processor, that a GPU's own process takes for each batch; 0 = there is none
    std::uint64_t growing = 0;      // of what each worker hands over first comes while a buffer of its own still grows
    pipeline::Order order = pipeline::Order::by_turns;
    std::size_t kept_steps = 0;  // that are reported one by one, in addition to the first and the slowest
  };
  /// `saves`: checkpoints on the way; `others`: the nodes that step with this one; `copies`: of each batch to its GPU. They
  /// outlive it; nullptr: none.
  explicit Pipeline(const Shape& shape, pipeline::SavesInLoop* saves = nullptr, pipeline::StepBarrier* others = nullptr,
                    pipeline::BatchCopies* copies = nullptr);

  // Reader `number` of gpus * workers, on its own thread: worker number / gpus of GPU number % gpus.

  /// Waits until another batch may be begun. False: no more are wanted.
  bool begin(unsigned number, const Recorder& recorder) noexcept;
  /// May one be begun without waiting? If so, it is.
  bool begin_now(unsigned number) noexcept;
  void ready(unsigned number) noexcept { queue(number).ready(number / shape_.gpus, now_ns()); }
  /// There is no more data for it.
  void end(unsigned number) noexcept { queue(number).end(number / shape_.gpus); }
  /// No more are wanted: not even the current batch.
  bool over() const noexcept { return over_.load(std::memory_order_relaxed); }

  /// The process of `gpu`, on its own thread, where taking a batch takes time.
  void take_batches(unsigned gpu, const Recorder& recorder) noexcept;
  /// After they ended: their mean share of the time in which they were busy taking batches. 0 where there are none.
  double taking_share() const noexcept;

  /// The GPUs, on one thread, until data, time or patience end. Reports `recorder` the latencies kWait, kStep and kLate of
  /// each step, as parts from `first_part` on.
  void train(Recorder& recorder, unsigned first_part) noexcept;
  static constexpr unsigned kWait = 0, kStep = 1, kLate = 2;

  const pipeline::StepAccount& account() const noexcept { return account_; }
  /// The trace of the steps, after train().
  PipelineTrace trace() const { return steps_.trace(account_); }
  /// Batches that are prepared while the first one is waited for or while buffers grow, in steps.
  std::uint64_t settling() const noexcept;
  /// Was the data used up, and not the time?
  bool out_of_data() const noexcept { return out_of_data_; }

 private:
  pipeline::BatchQueue& queue(unsigned number) noexcept { return *queues_[number % shape_.gpus]; }
  /// For a step whose own end is known: when it ends for all nodes. False: it ends for none.
  bool end_together(pipeline::StepClock& clock, pipeline::StepClock::Step& step, const Recorder& recorder) noexcept;
  enum class Given { some, none, over };
  enum class Had { batch, none, copying, over };
  /// Takes `gpu`'s next batch, and has it copied. batch: it is there since `ready_ns`, but for the `copy_ns` that took.
  Had next_batch(std::size_t gpu, std::uint64_t& ready_ns, std::uint64_t& copy_ns) noexcept;
  /// Gives each GPU that is free at `now_ns` the batch that it wants, where there is one. `next_ns`: when the next one
  /// that has a batch becomes free.
  Given give(pipeline::StepClock& clock, std::uint64_t now_ns, std::uint64_t& next_ns, bool& starved) noexcept;
  double share_ready() const noexcept;

  const Shape shape_;
  pipeline::SavesInLoop* const saves_;
  pipeline::StepBarrier* const others_;
  pipeline::BatchCopies* const copies_;
  std::vector<std::uint64_t> copied_ns_;  // by GPU: since when the batch was ready that is being copied; 0 = none is
  pipeline::Bell gpus_bell_;
  std::vector<std::unique_ptr<pipeline::TrainingProcess>> processes_;  // one for each GPU, or none
  std::vector<std::unique_ptr<pipeline::BatchQueue>> queues_;          // one for each GPU
  pipeline::StepAccount account_;
  pipeline::StepLog steps_;
  std::atomic<bool> over_{false};
  bool out_of_data_ = false;
};

}  // namespace headrace
