// Time as a watching thread counts it.
#pragma once

#include <algorithm>
#include <chrono>

namespace headrace::engine {

/// The time in which the watcher itself ran. A stop of the whole process, or of its machine, counts as one late look.
/// Nothing can go on then, and the storage is not at fault.
class WatchTime {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kLook{50};  // between two looks
  static constexpr std::chrono::milliseconds kMost = 2 * kLook;

  explicit WatchTime(Clock::time_point begin) : looked_(begin) {}

  /// At each look. Returns the time since the look before, stops included [s].
  double look(Clock::time_point now) {
    const Clock::duration since = now - looked_;
    passed_ += std::min<Clock::duration>(since, kMost);
    looked_ = now;
    return std::chrono::duration<double>(since).count();
  }
  /// From the beginning to the last look [s].
  double seconds() const { return std::chrono::duration<double>(passed_).count(); }

 private:
  Clock::time_point looked_;
  Clock::duration passed_{0};
};

}  // namespace headrace::engine
