// Memory of a GPU: with known bytes in it, and as much of it as there is.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/base/error.h"
#include "harness/record/data_report.h"

namespace headrace::gpu {

/// Words of a GPU's memory that are not as written: how many, and one of them.
inline std::string wrong_words(std::uint64_t count, const char* where, const GpuWrongWords& one) {
  return fmt::format("{} word{}{} {} not as written; one has {:#018x} and not {:#018x} (bits {:#x})", count,
                     count == 1 ? "" : "s", where, count == 1 ? "was" : "were", one.is, one.should_be,
                     one.is ^ one.should_be);
}

/// One source per GPU: all copies out of a GPU's memory read the same bytes. GPUs write and compare them, untimed.
class SourceMemory {
 public:
  SourceMemory() = default;
  SourceMemory(GpuBackend& backend, std::uint64_t size) : backend_(&backend), size_(size) {}

  const unsigned char* of(unsigned gpu) {
    std::unique_ptr<GpuMemory>& memory = memory_[gpu];
    if (!memory) {
      memory = backend_->gpu(gpu).allocate(size_);
      const auto stream = backend_->gpu(gpu).stream();
      stream->attach();
      stream->fill(memory->begin(), size_, pattern(gpu));
      stream->wait();
    }
    return memory->begin();
  }
  /// Compares what came to `at`, memory of the GPU `target`, with the source of the GPU `from`.
  void check(unsigned from, unsigned target, unsigned char* at, const std::string& name,
             std::vector<WrongBlock>& wrong) const {
    Gpu& gpu = backend_->gpu(target);
    const auto counted = gpu.pinned(sizeof(GpuWrongWords), false);
    auto& found = *new (counted->begin()) GpuWrongWords;
    const auto stream = gpu.stream();
    stream->attach();
    stream->check_and_fill(at, size_, pattern(from), pattern(from), found);
    stream->wait();
    if (found.count > 0)
      wrong.push_back({name, found.index * sizeof found.is, wrong_words(found.count, "", found), name});
  }

 private:
  static GpuPattern pattern(unsigned gpu) { return {GpuPattern::Kind::random, std::uint64_t{gpu} << 48}; }

  GpuBackend* backend_ = nullptr;
  std::uint64_t size_ = 0;
  std::map<unsigned, std::unique_ptr<GpuMemory>> memory_;
};

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
