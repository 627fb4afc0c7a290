// Device memory, pinned memory, and memory of others pinned.
#pragma once

#include <memory>
#include <span>

#include "harness/backends/cuda/device.h"
#include "harness/backends/gpu.h"

namespace headrace::cuda {

std::unique_ptr<GpuMemory> device_memory(Device& device, std::uint64_t bytes);
/// Gpu::share(), Gpu::map().
std::unique_ptr<GpuMemory> shared_memory(Device& device, std::uint64_t bytes, GpuFabricHandle& handle);
std::unique_ptr<GpuMemory> mapped_memory(Device& device, std::uint64_t bytes, const GpuFabricHandle& handle);
/// Gpu::dma_buf().
int dma_buf_of(Device& device, const GpuMemory& memory);
// The calls that free memory first make the same GPU the thread's own. The runtime starts a context on the thread's
// GPU, which is the first one by default.
/// Gpu::pinned(), Gpu::pin().
std::unique_ptr<GpuMemory> pinned_memory(Device& device, std::uint64_t bytes, bool write_combined);
std::unique_ptr<GpuMemory> pinned_in_place(Device& device, std::span<unsigned char> memory);

}  // namespace headrace::cuda
