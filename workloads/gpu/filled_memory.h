// Memory of a GPU with known bytes in it.
#pragma once

#include <cstdint>
#include <memory>

#include "harness/backends/gpu.h"
#include "workloads/pattern.h"

namespace headrace::gpu {

/// Untimed: of `size` bytes, with the pattern of `key`, as check_pattern() looks for it.
inline std::unique_ptr<GpuMemory> filled_memory(Gpu& gpu, std::uint64_t size, std::uint64_t key) {
  auto memory = gpu.allocate(size);
  const auto pattern = gpu.pinned(size, false);
  fill_pattern(pattern->begin(), size, key);
  const auto stream = gpu.stream();
  stream->attach();
  stream->copy(memory->begin(), pattern->begin(), size, CopyKind::h2d);
  stream->wait();
  return memory;
}

}  // namespace headrace::gpu
