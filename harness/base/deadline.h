// The end of a wait that has several steps.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "harness/base/clock.h"

namespace headrace {

/// The time since `begin_ns` (CLOCK_MONOTONIC) [s].
inline double seconds_since(std::uint64_t begin_ns) noexcept { return static_cast<double>(now_ns() - begin_ns) * 1e-9; }
inline double seconds_since(std::chrono::steady_clock::time_point begin) noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The time by which an operation ends; all its steps share the rest.
class Deadline {
 public:
  /// `timeout_s` from now; at most 30 years.
  explicit Deadline(double timeout_s) noexcept
      : end_ns_(now_ns() + static_cast<std::uint64_t>(std::clamp(timeout_s, 0.0, 1e9) * 1e9)) {}

  bool over() const noexcept { return now_ns() >= end_ns_; }
  /// Never below 0 [s].
  double left_s() const noexcept {
    const std::uint64_t now = now_ns();
    return now < end_ns_ ? static_cast<double>(end_ns_ - now) * 1e-9 : 0;
  }

 private:
  std::uint64_t end_ns_;
};

}  // namespace headrace
