// Memory of a GPU: with known bytes in it, and as much of it as there is.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/base/error.h"
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

/// Untimed: pieces of `piece` bytes, until they are `share` of the GPU's memory, or the driver refuses the next one.
/// Others then hold the rest. Throws RunError where there is no room for one.
inline std::vector<std::unique_ptr<GpuMemory>> most_memory(Gpu& gpu, double share, std::uint64_t piece) {
  std::vector<std::unique_ptr<GpuMemory>> pieces;
  const double wanted = share * static_cast<double>(gpu.facts().memory);
  do {
    try {
      pieces.push_back(gpu.allocate(piece));
    } catch (const RunError&) {
      if (pieces.empty() || !gpu.lost().empty()) throw;
      break;
    }
  } while (static_cast<double>((pieces.size() + 1) * piece) <= wanted);
  return pieces;
}

}  // namespace headrace::gpu
