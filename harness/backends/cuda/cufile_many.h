// Reads of cuFile that are handed over together, or queued behind other work.
#pragma once

#include <memory>
#include <vector>

#include "harness/backends/cuda/cufile.h"
#include "harness/backends/gpu.h"

namespace headrace::cuda {

/// Reads from `files` (cuFile's handles) into `memory`: both live longer. Throws Unsupported where the library has no
/// batches.
std::unique_ptr<GpuReadBatch> make_read_batch(CuFile& cufile, const std::vector<void*>& files, const GpuMemory& memory,
                                              unsigned most);

/// Reads in the order of streams.
class QueuedReads {
 public:
  virtual ~QueuedReads() = default;
  /// Throws RunError.
  virtual void queue(GpuRead& read, GpuStream& stream) = 0;
};

/// Throws Unsupported where the library queues no reads.
std::unique_ptr<QueuedReads> make_queued_reads(CuFile& cufile, const std::vector<void*>& files,
                                               const GpuMemory& memory);

}  // namespace headrace::cuda
