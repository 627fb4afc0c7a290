// Patterns that a test of memory writes and expects: the same for kernels and for the host.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define HEADRACE_ON_GPU_TOO __host__ __device__
#else
#define HEADRACE_ON_GPU_TOO
#endif

namespace headrace {

/// Words of 64 bits, each made from its place. `flip` is applied to all: all bits set give the inverse.
struct GpuPattern {
  enum class Kind { same, walking_bit, address, random };
  Kind kind = Kind::same;
  std::uint64_t flip = 0;
};

HEADRACE_ON_GPU_TOO constexpr std::uint64_t pattern_word(const GpuPattern& pattern, std::uint64_t index) {
  std::uint64_t word = 0;
  if (pattern.kind == GpuPattern::Kind::walking_bit) word = std::uint64_t{1} << (index & 63);
  if (pattern.kind == GpuPattern::Kind::address) word = index;
  if (pattern.kind == GpuPattern::Kind::random) {
    word = (index + 1) * 0x9e3779b97f4a7c15u;
    word = (word ^ (word >> 29)) * 0xbf58476d1ce4e5b9u;
    word ^= word >> 32;
  }
  return word ^ pattern.flip;
}

/// Words that were not as written, and one of them.
struct GpuWrongWords {
  unsigned long long count = 0;
  unsigned long long seen = 0;  // not 0: the rest is filled in
  std::uint64_t index = 0, is = 0, should_be = 0;
};

}  // namespace headrace
