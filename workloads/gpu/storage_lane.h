// A worker of storage_to_gpu: its shards, its GPU, and the blocks that are on their way there.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/backends/file_io.h"
#include "harness/backends/gpu.h"
#include "harness/machine/numa.h"
#include "workloads/gpu/straight_reads.h"

namespace headrace::gpu {

/// A block in a slot: read, copied, or both.
struct Block {
  std::uint32_t file = 0;  // position in the lane's shards
  std::uint64_t offset = 0, length = 0;
  std::uint64_t begin_ns = 0;                             // of the read, or of the copy where nothing is read
  std::uint64_t read_ns = 0, sent_ns = 0, copied_ns = 0;  // the read's end, the copy's begin and end
};
/// One worker: its shards, its GPU, its slots (each a host buffer and a place in device memory).
struct Lane {
  static constexpr std::size_t kKept = 32;  // blocks whose way is kept for the report
  unsigned gpu = 0;
  const NumaNode* place = nullptr;
  std::vector<std::uint32_t> shards;  // indices in the data set
  std::unique_ptr<BlockReader> reader;
  std::vector<std::unique_ptr<GpuMemory>> pins;  // of the reader's buffers; go before it
  std::unique_ptr<GpuMemory> device;
  std::unique_ptr<GpuStream> stream;
  std::unique_ptr<GpuFileReader> direct;
  std::unique_ptr<gpu::StraightReads> straight;
  std::vector<Block> blocks;             // by slot: the content of device memory
  std::vector<BlockRequest> requests;    // one batch
  std::vector<std::uint32_t> free;       // slots with nothing in flight
  std::vector<std::uint32_t> copying;    // a ring of slots in the order of their copies
  std::uint64_t copied = 0, queued = 0;  // copies that ended, and that were queued
  std::array<Block, kKept> last;         // a ring of those that came all the way
};

}  // namespace headrace::gpu
