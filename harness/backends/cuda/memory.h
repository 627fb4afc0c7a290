// Device memory, pinned memory, and memory of others pinned.
#pragma once

#include <memory>
#include <span>

#include "harness/backends/cuda/device.h"
#include "harness/backends/gpu.h"

namespace headrace::cuda {

std::unique_ptr<GpuMemory> device_memory(Device& device, std::uint64_t bytes);
/// Gpu::dma_buf().
int dma_buf_of(Device& device, const GpuMemory& memory);
// The calls that give memory back make the same GPU the thread's own first: the runtime starts a context on whichever GPU
// is the thread's, and that is the first one where nothing else was said.
/// Gpu::pinned(), Gpu::pin().
std::unique_ptr<GpuMemory> pinned_memory(Device& device, std::uint64_t bytes, bool write_combined);
std::unique_ptr<GpuMemory> pinned_in_place(Device& device, std::span<unsigned char> memory);

}  // namespace headrace::cuda
