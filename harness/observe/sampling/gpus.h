// Which GPUs are the job's, and how busy they were while batches were taken.
#pragma once

#include <optional>
#include <vector>

#include "harness/observe/observation.h"

namespace headrace::observe {

/// `slices` of Recording, while batches were taken. Where GPUs are here, and none is asked to be the job's, a note says so.
void find_gpus(const Recording& recording, const std::vector<const Slice*>& slices, Observation& seen);

/// Of the job's GPUs together; nothing where the driver reports it of none.
std::optional<Share> gpus_busy(const Observation& seen);

/// Of the GPU of the one process that takes batches, which nobody else uses: only of such a one it is known that it does not
/// wait for other GPUs while it is busy.
std::optional<Share> lone_gpu_busy(const Observation& seen);

}  // namespace headrace::observe
