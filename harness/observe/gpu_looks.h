// Asks the GPUs' driver again and again what they do, in a thread of its own: a driver may take long to answer, and nobody that
// looks at processes waits for it.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "harness/backends/gpu_activity.h"
#include "harness/observe/recording.h"

namespace headrace::observe {

class GpuLooks {
 public:
  using Begin = std::function<std::unique_ptr<GpuActivity>()>;
  /// `begin` is called in the thread; where it gives nothing, nobody is asked. A driver that takes more than a hundredth of a
  /// processor is asked less often.
  GpuLooks(const Begin& begin, double every_s);
  /// Lets go of a driver that does not answer.
  ~GpuLooks();
  GpuLooks(const GpuLooks&) = delete;

  /// What was seen since the last call; GPUs and users that are new are added to `gpus`.
  std::vector<GpuSlice> take(std::vector<GpuSeen>& gpus);
  /// Processor time of the thread so far [s].
  double cpu_s() const;

 private:
  struct Shared;
  static void watch(Shared& shared, const Begin& begin, double every_s);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace headrace::observe
