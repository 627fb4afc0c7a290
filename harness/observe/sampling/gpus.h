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

/// `slices` of Recording, while batches were taken. A note reports present GPUs if none is the job's.
void find_gpus(const Recording& recording, const std::vector<const Slice*>& slices, Observation& seen);

/// The share for the job's GPUs together; nothing where the driver reports none.
std::optional<Share> gpus_busy(const Observation& seen);

/// The share for a GPU with only one process, which takes batches. Only such a GPU surely does not wait for other GPUs
/// while it is busy.
std::optional<Share> lone_gpu_busy(const Observation& seen);

// Asks the GPUs' driver for their state again and again, in its own thread: a driver may take long.

class GpuLooks {
 public:
  using Begin = std::function<std::unique_ptr<GpuActivity>()>;
  /// `begin` is called in the thread; where it gives nothing, no driver is asked. A driver that takes more than a
  /// hundredth of a processor is asked less often.
  GpuLooks(const Begin& begin, double every_s);
  GpuLooks(const GpuLooks&) = delete;

  /// The looks since the last call; new GPUs and users are added to `gpus`.
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
