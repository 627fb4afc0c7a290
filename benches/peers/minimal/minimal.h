// Common parts of the minimal programs: a clock, a histogram, one line of JSON. Nothing of headrace, so that headrace's
// overhead over bare system calls shows.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace minimal {

inline std::uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Processor time of this process, user and kernel [ns].
inline std::uint64_t cpu_ns() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_usec) * 1000u;
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

[[noreturn]] inline void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// `size` bytes in transparent huge pages where the kernel gives them, touched.
inline unsigned char* buffer(std::size_t size) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  size = (size + kHuge - 1) / kHuge * kHuge;
  void* memory = std::aligned_alloc(kHuge, size);
  if (!memory) fail("memory");
  madvise(memory, size, MADV_HUGEPAGE);
  std::memset(memory, 1, size);
  return static_cast<unsigned char*>(memory);
}

/// xorshift64*.
class Random {
 public:
  std::uint64_t below(std::uint64_t limit) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    __extension__ typedef unsigned __int128 Wide;
    return static_cast<std::uint64_t>((static_cast<Wide>(state_ * 0x2545f4914f6cdd1du) * limit) >> 64);
  }

 private:
  std::uint64_t state_ = 88172645463325252u;
};

/// Operations with their latencies, log-linear: 64 buckets per power of two.
class Result {
 public:
  Result() : cpu_(cpu_ns()), begin_(now_ns()) {}

  void add(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes) {
    const std::uint64_t ns = end - begin;
    const int shift = std::bit_width(ns | 64) - 7;
    ++counts_[static_cast<std::size_t>(64 * shift) + (ns >> shift)];
    ++operations_;
    bytes_ += bytes;
  }
  /// Another thread's; the time stays this one's.
  void merge(const Result& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    operations_ += other.operations_;
    bytes_ += other.bytes_;
  }
  /// {"elapsed_s": ..., "cpu_s": ..., "operations": ..., "bytes": ..., "p50_ns": ..., "p99_ns":
  /// ...}
  void print() const {
    const std::uint64_t elapsed = now_ns() - begin_, cpu = cpu_ns() - cpu_;
    std::printf(
        "{\"elapsed_s\": %.9f, \"cpu_s\": %.9f, \"operations\": %llu, \"bytes\": %llu, \"p50_ns\": "
        "%.0f, \"p99_ns\": %.0f}\n",
        1e-9 * static_cast<double>(elapsed), 1e-9 * static_cast<double>(cpu),
        static_cast<unsigned long long>(operations_), static_cast<unsigned long long>(bytes_), percentile(0.50),
        percentile(0.99));
  }

 private:
  double percentile(double p) const {
    double left = p * static_cast<double>(operations_);
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      left -= static_cast<double>(counts_[i]);
      if (left > 0) continue;
      const std::size_t shift = i < 128 ? 0 : i / 64 - 1;
      return static_cast<double>((i - 64 * shift) << shift);
    }
    return 0;
  }

  std::array<std::uint64_t, 64 * 60> counts_{};
  std::uint64_t operations_ = 0, bytes_ = 0, cpu_, begin_;
};

}  // namespace minimal
