// The state of GPUs while they work, read twice a second by its own thread; the submitting thread never asks.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/base/start_thread.h"

namespace headrace::gpu {

/// The samples of one GPU. What the driver does not report has no samples.
struct GpuSamples {
  struct Mean {
    double sum = 0, most = 0;
    unsigned count = 0;
    void add(double value) {
      sum += value;
      most = count == 0 ? value : std::max(most, value);
      ++count;
    }
    double mean() const { return count == 0 ? 0 : sum / count; }
  };
  Mean clock_hz, power_w, power_ratio, temperature_c;  // power_ratio: of the limit that the driver enforces
  unsigned looks = 0, held_back = 0;
  std::string why;             // of the last time that its clocks were held back
  std::vector<unsigned> xids;  // that the driver reported in this time
};

class GpuSampler {
 public:
  ~GpuSampler() { stop(); }
  void start(std::vector<Gpu*> gpus) {
    stop();
    samples_.assign(gpus.size(), {});
    power_now_ = std::vector<PowerNow>(gpus.size());
    stopping_ = false;
    thread_ = start_thread<std::thread>([this, gpus = std::move(gpus)] { look(gpus); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  /// While it runs: the last look's power over its limit, and the number of looks before. Any thread.
  std::pair<unsigned, double> power_now(std::size_t gpu) const {
    const PowerNow& now = power_now_[gpu];
    const unsigned looks = now.looks.load(std::memory_order_acquire);
    return {looks, now.ratio.load(std::memory_order_relaxed)};
  }
  /// Once it has stopped.
  const std::vector<GpuSamples>& samples() const { return samples_; }

 private:
  static constexpr std::chrono::milliseconds kEvery{500};

  void look(const std::vector<Gpu*>& gpus) {
    std::unique_lock lock(mutex_);
    do {
      for (std::size_t i = 0; i < gpus.size(); ++i) {
        const GpuState state = gpus[i]->state();
        GpuSamples& s = samples_[i];
        ++s.looks;
        s.xids.insert(s.xids.end(), state.xids.begin(), state.xids.end());
        if (state.clock_hz) s.clock_hz.add(*state.clock_hz);
        if (state.power_w) s.power_w.add(*state.power_w);
        if (state.power_w && state.power_limit_w.value_or(0) > 0) {
          const double ratio = *state.power_w / *state.power_limit_w;
          s.power_ratio.add(ratio);
          power_now_[i].ratio.store(ratio, std::memory_order_relaxed);
          power_now_[i].looks.fetch_add(1, std::memory_order_release);
        }
        if (state.temperature_c) s.temperature_c.add(*state.temperature_c);
        if (state.held_back.empty()) continue;
        ++s.held_back;
        s.why = state.held_back;
      }
    } while (!wake_.wait_for(lock, kEvery, [this] { return stopping_; }));
  }

  struct PowerNow {
    std::atomic<double> ratio{0};
    std::atomic<unsigned> looks{0};
  };

  std::vector<GpuSamples> samples_;
  std::vector<PowerNow> power_now_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headrace::gpu
