// The one clock of everything, and waiting for a moment of it.
#pragma once

#include <time.h>

#include <cerrno>
#include <cstdint>

namespace headrace {

/// CLOCK_MONOTONIC [ns].
inline std::uint64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Waking up takes longer than the allowed lateness of a request. A sleeper wakes this long before, then polls the
/// clock [ns].
constexpr std::uint64_t kWakeEarly = 50'000;

/// Returns at `until_ns`, at once when that is past, or when a signal comes.
inline void sleep_until(std::uint64_t until_ns) noexcept {
  if (const std::uint64_t now = now_ns(); until_ns > now && until_ns - now > kWakeEarly) {
    const std::uint64_t wake = until_ns - kWakeEarly;
    const timespec t{.tv_sec = static_cast<time_t>(wake / 1'000'000'000u),
                     .tv_nsec = static_cast<long>(wake % 1'000'000'000u)};
    if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) return;
  }
  while (now_ns() < until_ns) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

}  // namespace headrace
