// The abilities of the backend over CUDA, whether it is built or not.
#pragma once

#include "harness/backends/engines.h"

namespace headrace::cuda {

inline constexpr BackendTraits kTraits{
    .name = "cuda", .needs = "the CUDA Toolkit 12.4 or later", .gives = Gives::gpus, .late = true};

}  // namespace headrace::cuda
