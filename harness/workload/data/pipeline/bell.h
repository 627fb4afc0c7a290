// One thread sleeps on it while it waits for any of several others.
#pragma once

#include <atomic>
#include <cstdint>

#include "harness/base/futex.h"

namespace headrace::pipeline {

/// One waits, any number ring. A ring between look() and wait() is not missed. Ringing costs a system call only while
/// one sleeps.
class Bell {
 public:
  /// Before checking the condition.
  std::uint32_t look() noexcept {
    waits_.store(true);
    return rings_.load();
  }
  /// After it was not there: until the bell is rung, `most_ns` at most.
  void wait(std::uint32_t looked, std::uint64_t most_ns) noexcept {
    futex_wait(rings_, looked, most_ns);
    waits_.store(false);
  }
  /// After it was there.
  void leave() noexcept { waits_.store(false, std::memory_order_relaxed); }
  void ring() noexcept {
    rings_.fetch_add(1);
    if (waits_.load()) futex_wake(rings_);
  }

 private:
  std::atomic<std::uint32_t> rings_{0};
  std::atomic<bool> waits_{false};
};

}  // namespace headrace::pipeline
