// When each emulated GPU computes: time is reported by deadlines, and the host's lateness is distinguished.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace headrace::pipeline {

/// For GPUs that train together. Each computes a batch for `compute_ns`, `batches` of them in one step. A step ends for
/// all with the last of them. The host launches one batch ahead, as frameworks do. The GPU goes on where the host
/// notices a batch or a free GPU late by less than a batch. For the rest of a longer delay, the GPU waited for
/// the host. Times are CLOCK_MONOTONIC [ns]; nothing here sleeps.
class StepClock {
 public:
  StepClock(unsigned gpus, unsigned batches, std::uint64_t compute_ns)
      : batches_(batches), compute_ns_(compute_ns), gpus_(gpus) {}

  /// All are free from now on.
  void start(std::uint64_t now_ns) noexcept {
    begin_ns_ = now_ns;
    for (Gpu& gpu : gpus_) gpu = {.free_ns = now_ns};
    left_ = gpus_.size() * batches_;
    wait_ns_ = copy_ns_ = host_ns_ = 0;
  }
  /// Since when `gpu` is free for the next batch of this step, or will be.
  std::uint64_t free_ns(std::size_t gpu) const noexcept { return gpus_[gpu].free_ns; }
  bool wants(std::size_t gpu) const noexcept { return gpus_[gpu].done < batches_; }

  /// `gpu` is given a batch that is ready since `ready_ns`, at `now_ns`, and that took `copy_ns` to copy to it.
  void take(std::size_t gpu, std::uint64_t ready_ns, std::uint64_t now_ns, std::uint64_t copy_ns = 0) noexcept {
    Gpu& one = gpus_[gpu];
    const std::uint64_t there = std::max(one.free_ns, ready_ns), copied = there + copy_ns;
    const std::uint64_t begin = std::max(copied, now_ns - std::min(now_ns, compute_ns_));
    wait_ns_ += there - one.free_ns;
    copy_ns_ += copy_ns;
    host_ns_ += begin - copied;
    one.free_ns = begin + compute_ns_;
    ++one.done;
    --left_;
  }
  /// For how long the GPUs that want a batch have had none, their mean over all GPUs.
  std::uint64_t starved_ns(std::uint64_t now_ns) const noexcept {
    std::uint64_t ns = 0;
    for (const Gpu& gpu : gpus_)
      if (gpu.done < batches_ && gpu.free_ns < now_ns) ns += now_ns - gpu.free_ns;
    return ns / gpus_.size();
  }
  /// Has every GPU all batches of this step?
  bool full() const noexcept { return left_ == 0; }

  struct Step {
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::uint64_t wait_ns = 0;    // for data, the mean of the GPUs
    std::uint64_t copy_ns = 0;    // for copies of batches, the mean too
    std::uint64_t host_ns = 0;    // for a host that was late, the mean too
    std::uint64_t others_ns = 0;  // for the GPUs of other nodes, after its own were done; set by the caller
  };
  /// The end of a full step, for all GPUs. The next one begins then.
  Step end() noexcept {
    Step step{.begin_ns = begin_ns_,
              .end_ns = 0,
              .wait_ns = wait_ns_ / gpus_.size(),
              .copy_ns = copy_ns_ / gpus_.size(),
              .host_ns = host_ns_ / gpus_.size(),
              .others_ns = 0};
    for (const Gpu& gpu : gpus_) step.end_ns = std::max(step.end_ns, gpu.free_ns);
    start(step.end_ns);
    return step;
  }

 private:
  struct Gpu {
    std::uint64_t free_ns = 0;
    std::uint32_t done = 0;  // batches of this step
  };

  const std::uint32_t batches_;
  const std::uint64_t compute_ns_;
  std::vector<Gpu> gpus_;
  std::uint64_t begin_ns_ = 0, left_ = 0, wait_ns_ = 0, copy_ns_ = 0, host_ns_ = 0;
};

}  // namespace headrace::pipeline
