// What GPUs are doing while they work, looked at twice a second by a thread of its own: the one that submits asks nobody.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/base/start_thread.h"

namespace headrace::gpu {

/// Of one GPU. What the driver does not report has no samples.
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
  Mean clock_hz, power_w, temperature_c;
  unsigned looks = 0, held_back = 0;
  std::string why;             // of the last time that its clocks were held back
  std::vector<unsigned> xids;  // that the driver reported meanwhile
};

class GpuSampler {
 public:
  ~GpuSampler() { stop(); }
  void start(std::vector<Gpu*> gpus) {
    stop();
    samples_.assign(gpus.size(), {});
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
        if (state.temperature_c) s.temperature_c.add(*state.temperature_c);
        if (state.held_back.empty()) continue;
        ++s.held_back;
        s.why = state.held_back;
      }
    } while (!wake_.wait_for(lock, kEvery, [this] { return stopping_; }));
  }

  std::vector<GpuSamples> samples_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headrace::gpu
