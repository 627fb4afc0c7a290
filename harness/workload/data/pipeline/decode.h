// The cost of decoding: an amount of processor time, which other threads may delay.
#pragma once

#include <time.h>

#include <cstdint>

namespace headrace::pipeline {

/// CLOCK_THREAD_CPUTIME_ID [ns].
inline std::uint64_t thread_cpu_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Computes until this thread has had `ns` of a processor.
inline void burn(std::uint64_t ns) noexcept {
  if (ns == 0) return;
  const std::uint64_t end = thread_cpu_ns() + ns;
  std::uint64_t x = end | 1;
  while (thread_cpu_ns() < end) {
    for (int i = 0; i < 64; ++i) x = x * 0x9e3779b97f4a7c15u ^ (x >> 29);
    asm volatile("" : "+r"(x));
  }
}

}  // namespace headrace::pipeline
