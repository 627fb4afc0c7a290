// Kernels: one holds a stream back, one keeps the GPU busy, one compares.
#include "harness/backends/cuda/kernels.h"

namespace headrace::cuda {
namespace {

__device__ std::uint64_t now() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void wait_for_gate(Gate* gate, std::uint32_t ticket, std::uint64_t timeout_ns) {
  const std::uint64_t begin = now();
  // Tickets grow and may wrap around: the difference decides.
  while (static_cast<std::int32_t>(gate->opened - ticket) < 0) {
    if (now() - begin > timeout_ns) {
      gate->gave_up = 1;
      __threadfence_system();
      return;
    }
  }
}

__global__ void stay_busy(std::uint64_t ns) {
  const std::uint64_t begin = now();
  while (now() - begin < ns) {
  }
}

__global__ void compare(const std::uint32_t* a, const std::uint32_t* b, std::uint64_t words,
                        unsigned long long* count) {
  const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  unsigned long long differ = 0;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += threads)
    differ += a[i] != b[i];
  if (differ != 0) {
    atomicAdd_system(count, differ);
    __threadfence_system();
  }
}

}  // namespace

cudaError_t launch_gate(Gate* gate, std::uint32_t ticket, std::uint64_t timeout_ns, cudaStream_t stream) {
  wait_for_gate<<<1, 1, 0, stream>>>(gate, ticket, timeout_ns);
  return cudaGetLastError();
}

cudaError_t launch_busy(std::uint64_t ns, cudaStream_t stream) {
  stay_busy<<<1, 1, 0, stream>>>(ns);
  return cudaGetLastError();
}

cudaError_t launch_compare(const std::uint32_t* a, const std::uint32_t* b, std::uint64_t words,
                           unsigned long long* count, cudaStream_t stream) {
  constexpr unsigned kBlocks = 1024, kThreads = 256;
  compare<<<kBlocks, kThreads, 0, stream>>>(a, b, words, count);
  return cudaGetLastError();
}

}  // namespace headrace::cuda
