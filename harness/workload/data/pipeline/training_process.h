// The process that trains on one GPU: it takes batches from the loader's workers and hands them to its GPU. That takes
// processor time, which workers want, too.
#pragma once

#include <atomic>
#include <cstdint>

#include "harness/base/clock.h"
#include "harness/workload/data/pipeline/batch_queue.h"
#include "harness/workload/data/pipeline/bell.h"
#include "harness/workload/data/pipeline/decode.h"

namespace headrace::pipeline {

/// One batch ahead of its GPU, as in frameworks whose GPUs compute in parallel with their host. It takes the next one
/// as soon as the GPU has begun with the one before.
class TrainingProcess {
 public:
  /// `batch_ns`: of a processor, for each batch. `gpus` is rung when one is there.
  TrainingProcess(std::uint64_t batch_ns, Bell& gpus) : batch_ns_(batch_ns), gpus_(gpus) {}

  /// To be rung by the workers' queue.
  Bell& bell() noexcept { return bell_; }

  /// On its own thread, until `over()`.
  template <typename Over>
  void run(BatchQueue& queue, const Over& over) noexcept {
    while (!over()) {
      const std::uint32_t looked = bell_.look();
      std::uint64_t ready_ns = 0;
      const bool free = ready_ns_.load() == 0;
      const BatchQueue::Taken taken = free ? queue.take(ready_ns) : BatchQueue::Taken::not_yet;
      if (taken == BatchQueue::Taken::not_yet) {
        bell_.wait(looked, kLook);
        continue;
      }
      bell_.leave();
      if (taken == BatchQueue::Taken::over) {
        ended_.store(true);
        gpus_.ring();
        return;
      }
      const std::uint64_t began_ns = now_ns();
      if (first_ns_ == 0) first_ns_ = began_ns;
      burn(batch_ns_);
      last_ns_ = now_ns();
      busy_ns_ += last_ns_ - began_ns;
      ready_ns_.store(last_ns_);
      gpus_.ring();
    }
  }

  /// On the GPUs' thread: the batch that it was handed, and since when it has been there.
  BatchQueue::Taken take(std::uint64_t& ready_ns) noexcept {
    const bool ended = ended_.load();  // before the look: batches from before the end are not missed
    ready_ns = ready_ns_.exchange(0);
    if (ready_ns == 0) return ended ? BatchQueue::Taken::over : BatchQueue::Taken::not_yet;
    bell_.ring();
    return BatchQueue::Taken::batch;
  }

  /// After run(): the share of time, 0 to 1, in which it had batches or waited for a processor. The time is from the
  /// first batch's begin to the last one's end.
  double busy_share() const noexcept {
    return last_ns_ > first_ns_ ? static_cast<double>(busy_ns_) / static_cast<double>(last_ns_ - first_ns_) : 0;
  }

 private:
  static constexpr std::uint64_t kLook = 20'000'000;  // between two looks whether to stop [ns]

  const std::uint64_t batch_ns_;
  Bell& gpus_;
  Bell bell_;
  std::atomic<std::uint64_t> ready_ns_{0};  // of the batch that is there; 0 = none
  std::atomic<bool> ended_{false};
  std::uint64_t first_ns_ = 0, last_ns_ = 0, busy_ns_ = 0;  // of the thread of run()
};

}  // namespace headrace::pipeline
