// The kernels of this backend, behind functions that the host compiler sees.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "harness/backends/expected_sums.h"
#include "harness/backends/gpu_pattern.h"

namespace headrace::cuda {

/// What the host and a waiting kernel share, in pinned memory.
struct Gate {
  volatile std::uint32_t opened = 0;   // tickets up to this one may pass
  volatile std::uint32_t gave_up = 0;  // set by a kernel that waited too long
};

/// Queues a kernel that waits until `gate->opened` has reached `ticket`, at most `timeout_ns`.
cudaError_t launch_gate(Gate* gate, std::uint32_t ticket, std::uint64_t timeout_ns, cudaStream_t stream);
/// Queues a kernel that keeps one multiprocessor busy for `ns`.
cudaError_t launch_busy(std::uint64_t ns, cudaStream_t stream);
/// Queues a kernel that copies between any two places that the GPU reaches, both aligned to 16 bytes.
cudaError_t launch_copy(void* to, const void* from, std::uint64_t bytes, cudaStream_t stream);
/// Queues a kernel that follows `loads` pointers one after the other from `at` on. The last one goes into `*last`.
cudaError_t launch_follow(const void* const* at, std::uint64_t loads, const void** last, cudaStream_t stream);
/// Queues a kernel that adds the number of wrong words among `words` to `*count`, which host and GPU share. A word has
/// 8 bytes if they are `wide`, else 4.
cudaError_t launch_compare(const void* a, const void* b, std::uint64_t words, bool wide, unsigned long long* count,
                           cudaStream_t stream);
/// Queues a kernel that fills `words` words of 8 bytes. Where `is` is given, it first compares them with that, and adds
/// to `*found`, which host and GPU share.
cudaError_t launch_pattern(std::uint64_t* at, std::uint64_t words, const GpuPattern* is, const GpuPattern& next,
                           GpuWrongWords* found, cudaStream_t stream);
/// Queues a kernel that writes what a rank brings to a collective.
cudaError_t launch_bring(void* in, const ExpectedSums& data, bool in_place, cudaStream_t stream);
/// Queues a kernel that compares what a rank got, and adds to `*found`, in memory that host and GPU share.
cudaError_t launch_check(const void* out, const ExpectedSums& data, GpuWrongElements* found, cudaStream_t stream);

}  // namespace headrace::cuda
