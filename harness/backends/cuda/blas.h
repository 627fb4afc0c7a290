// Products of matrices by cuBLAS, which is looked for when headrace runs: the one that training uses there.
#pragma once

#include <memory>

#include "harness/backends/cuda/device.h"
#include "harness/backends/cuda/stream.h"
#include "harness/backends/gpu.h"

namespace headrace::cuda {

/// Throws Unsupported with the reason where there is no library, or this build knew none.
std::unique_ptr<GpuMultiplier> make_multiplier(Device& device, Stream& stream, const GpuMatrices& matrices);

}  // namespace headrace::cuda
