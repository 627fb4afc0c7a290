// The abilities of the backend over NCCL, whether it is built or not.
#pragma once

#include "harness/backends/engines.h"

namespace headrace::nccl {

inline constexpr BackendTraits kTraits{
    .name = "nccl", .needs = "nccl.h 2.18 or later and the CUDA Toolkit", .gives = Gives::gpu_collectives};

}  // namespace headrace::nccl
