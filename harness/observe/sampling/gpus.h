// Which GPUs are the job's, and how busy they were while batches were taken.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "harness/backends/gpu_activity.h"
#include "harness/observe/beside.h"
#include "harness/observe/observation.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe {

/// `slices` of Recording, while batches were taken. Where GPUs are here, and none is asked to be the job's, a note says so.
void find_gpus(const Recording& recording, const std::vector<const Slice*>& slices, Observation& seen);

/// Of the job's GPUs together; nothing where the driver reports it of none.
std::optional<Share> gpus_busy(const Observation& seen);

/// Of the GPU of the one process that takes batches, which nobody else uses: only of such a one it is known that it does not
/// wait for other GPUs while it is busy.
std::optional<Share> lone_gpu_busy(const Observation& seen);

// Asks the GPUs' driver again and again what they do, in a thread of its own: a driver may take long to answer.

class GpuLooks {
 public:
  using Begin = std::function<std::unique_ptr<GpuActivity>()>;
  /// `begin` is called in the thread; where it gives nothing, nobody is asked. A driver that takes more than a hundredth of a
  /// processor is asked less often.
  GpuLooks(const Begin& begin, double every_s);
  GpuLooks(const GpuLooks&) = delete;

  /// What was seen since the last call; GPUs and users that are new are added to `gpus`.
  std::vector<GpuSlice> take(std::vector<GpuSeen>& gpus);
  /// Processor time of the thread so far [s].
  double cpu_s() const { return thread_.cpu_s(); }

 private:
  struct Found {
    std::mutex mutex;
    std::vector<std::vector<GpuLook>> looks;  // since the last take()
  };

  std::shared_ptr<Found> found_;
  Beside thread_;
};

}  // namespace headrace::observe
