// Waiting for a word in memory to change, between threads of one process, with no lock and no allocation.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace headrace {

/// Until `word` is no longer `value`; `most_ns` at most, so that the waiter can check for a stop.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t most_ns) noexcept {
  const timespec most{.tv_sec = static_cast<time_t>(most_ns / 1'000'000'000u),
                      .tv_nsec = static_cast<long>(most_ns % 1'000'000'000u)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &most, nullptr, 0);
}

/// Wakes one that waits for `word`.
inline void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace headrace
