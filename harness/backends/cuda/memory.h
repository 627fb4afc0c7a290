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
/// `gpu`: one whose driver context exists already or is made now.
std::unique_ptr<GpuMemory> pinned_memory(Device& gpu, std::uint64_t bytes, bool write_combined);
std::unique_ptr<GpuMemory> pinned_in_place(Device& gpu, std::span<unsigned char> memory);

}  // namespace headrace::cuda
