// Kernels: they hold a stream back, keep the GPU busy, compare, test memory, copy, and follow pointers.
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

template <class Word>
__global__ void compare(const Word* a, const Word* b, std::uint64_t words, unsigned long long* count) {
  const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  unsigned long long differ = 0;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += threads)
    differ += a[i] != b[i];
  if (differ != 0) {
    atomicAdd_system(count, differ);
    __threadfence_system();
  }
}

/// Volatile, so that no load is taken from a cache of the multiprocessor, or left out.
template <bool checks>
__global__ void test_memory(volatile std::uint64_t* at, std::uint64_t words, GpuPattern is, GpuPattern next,
                            GpuWrongWords* found) {
  const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  unsigned long long wrong = 0;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += threads) {
    if (checks) {
      const std::uint64_t word = at[i], right = pattern_word(is, i);
      if (word != right && wrong++ == 0 && atomicAdd_system(&found->seen, 1ull) == 0) {
        found->index = i;
        found->is = word;
        found->should_be = right;
      }
    }
    at[i] = pattern_word(next, i);
  }
  if (wrong != 0) {
    atomicAdd_system(&found->count, wrong);
    __threadfence_system();
  }
}

__global__ void bring(void* in, ExpectedSums data, bool in_place) {
  const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < data.count();
       i += threads)
    data.bring(in, i, in_place);
}

__global__ void check(const void* out, ExpectedSums data, GpuWrongElements* found) {
  const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x, results = data.results();
  unsigned long long wrong = 0, first = 0;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < results; i += threads)
    if (!data.is_right(out, i) && wrong++ == 0) first = i;
  if (wrong != 0) {
    atomicAdd_system(&found->count, wrong);
    atomicMin_system(&found->first, first);
    __threadfence_system();
  }
}

/// `words` of 16 bytes, then the bytes that are left.
__global__ void copy_words(uint4* to, const uint4* from, std::uint64_t words, std::uint64_t bytes_left) {
  const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  const std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::uint64_t i = first; i < words; i += threads) to[i] = from[i];
  if (first < bytes_left)
    reinterpret_cast<unsigned char*>(to + words)[first] = reinterpret_cast<const unsigned char*>(from + words)[first];
}

/// Each load shows where the next one is.
__global__ void follow(const void* const volatile* at, std::uint64_t loads, const void** last) {
  const void* const volatile* place = at;
  for (std::uint64_t i = 0; i < loads; ++i) place = static_cast<const void* const volatile*>(*place);
  *last = const_cast<const void*>(static_cast<const volatile void*>(place));
}

}  // namespace

cudaError_t launch_copy(void* to, const void* from, std::uint64_t bytes, cudaStream_t stream) {
  constexpr unsigned kBlocks = 1024, kThreads = 512;
  copy_words<<<kBlocks, kThreads, 0, stream>>>(static_cast<uint4*>(to), static_cast<const uint4*>(from),
                                               bytes / sizeof(uint4), bytes % sizeof(uint4));
  return cudaGetLastError();
}

cudaError_t launch_follow(const void* const* at, std::uint64_t loads, const void** last, cudaStream_t stream) {
  follow<<<1, 1, 0, stream>>>(at, loads, last);
  return cudaGetLastError();
}

cudaError_t launch_gate(Gate* gate, std::uint32_t ticket, std::uint64_t timeout_ns, cudaStream_t stream) {
  wait_for_gate<<<1, 1, 0, stream>>>(gate, ticket, timeout_ns);
  return cudaGetLastError();
}

cudaError_t launch_busy(std::uint64_t ns, cudaStream_t stream) {
  stay_busy<<<1, 1, 0, stream>>>(ns);
  return cudaGetLastError();
}

cudaError_t launch_compare(const void* a, const void* b, std::uint64_t words, bool wide, unsigned long long* count,
                           cudaStream_t stream) {
  constexpr unsigned kBlocks = 1024, kThreads = 256;
  if (wide)
    compare<<<kBlocks, kThreads, 0, stream>>>(static_cast<const std::uint64_t*>(a),
                                              static_cast<const std::uint64_t*>(b), words, count);
  else
    compare<<<kBlocks, kThreads, 0, stream>>>(static_cast<const std::uint32_t*>(a),
                                              static_cast<const std::uint32_t*>(b), words, count);
  return cudaGetLastError();
}

cudaError_t launch_pattern(std::uint64_t* at, std::uint64_t words, const GpuPattern* is, const GpuPattern& next,
                           GpuWrongWords* found, cudaStream_t stream) {
  constexpr unsigned kBlocks = 2048, kThreads = 256;
  if (is != nullptr)
    test_memory<true><<<kBlocks, kThreads, 0, stream>>>(at, words, *is, next, found);
  else
    test_memory<false><<<kBlocks, kThreads, 0, stream>>>(at, words, next, next, found);
  return cudaGetLastError();
}

cudaError_t launch_bring(void* in, const ExpectedSums& data, bool in_place, cudaStream_t stream) {
  constexpr unsigned kBlocks = 2048, kThreads = 256;
  bring<<<kBlocks, kThreads, 0, stream>>>(in, data, in_place);
  return cudaGetLastError();
}

cudaError_t launch_check(const void* out, const ExpectedSums& data, GpuWrongElements* found, cudaStream_t stream) {
  constexpr unsigned kBlocks = 2048, kThreads = 256;
  check<<<kBlocks, kThreads, 0, stream>>>(out, data, found);
  return cudaGetLastError();
}

}  // namespace headrace::cuda
