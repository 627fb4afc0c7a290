// The schedule of an open loop: when requests should start, independent of free workers.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>

#include "harness/base/random.h"

namespace headrace {

enum class Spacing { constant, poisson };

/// One schedule for all workers. A free worker takes the next intended start. So a request waits only while every
/// worker is busy, and the order of the queue stays. Costs one atomic addition. The gaps of a Poisson process are
/// independent. Each worker draws the next from its own random numbers.
class Arrivals {
 public:
  /// `rate` [1/s].
  Arrivals(double rate, Spacing spacing) noexcept : spacing_(spacing), gap_(1e9 * kFraction / rate) {}

  /// The schedule begins at `now_ns`, unless another worker has begun it.
  void begin(std::uint64_t now_ns) noexcept {
    std::uint64_t none = 0;
    origin_.compare_exchange_strong(none, now_ns, std::memory_order_relaxed);
  }
  std::uint64_t origin_ns() const noexcept { return origin_.load(std::memory_order_relaxed); }

  /// The next intended start [ns, CLOCK_MONOTONIC].
  std::uint64_t take(Random& random) noexcept {
    const double gap = spacing_ == Spacing::constant ? gap_ : gap_ * exponential(random);
    const std::uint64_t at = next_.fetch_add(static_cast<std::uint64_t>(gap), std::memory_order_relaxed);
    return origin_ns() + at / kFraction;
  }

 private:
  static constexpr std::uint64_t kFraction = 1024;  // of a nanosecond, in which gaps are kept

  /// Exponentially distributed with mean 1.
  static double exponential(Random& random) noexcept {
    return -std::log(static_cast<double>((random.next() >> 11) + 1) * 0x1p-53);
  }

  const Spacing spacing_;
  const double gap_;                                 // mean [ns / kFraction]
  alignas(128) std::atomic<std::uint64_t> next_{0};  // since the origin [ns / kFraction]
  alignas(128) std::atomic<std::uint64_t> origin_{0};
};

}  // namespace headrace
