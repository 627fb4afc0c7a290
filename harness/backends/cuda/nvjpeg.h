// JPEG images decoded by nvJPEG, which is looked for when headrace runs: the library that DALI and torchvision use there.
#pragma once

#include <memory>

#include "harness/backends/cuda/device.h"
#include "harness/backends/cuda/stream.h"
#include "harness/backends/gpu.h"

namespace headrace::cuda {

/// Throws Unsupported with the reason where there is no library, no such decoder, or this build knew none.
std::unique_ptr<GpuImageDecoder> make_image_decoder(Device& device, Stream& stream, unsigned batch,
                                                    unsigned host_threads, bool hardware);

}  // namespace headrace::cuda
