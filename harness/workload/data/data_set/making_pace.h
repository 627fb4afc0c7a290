// How fast a data set is made, where there is not time for all of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace headrace {

/// How many files are made next: all of them, or with a limit of time few at first. Then more and more by the observed
/// speed, each time no more than fit into half of the time left. The page cache is written back after each time, so
/// that the speed is the storage's.
class MakingPace {
 public:
  MakingPace(std::uint64_t file_size, std::optional<double> limit_s) : file_size_(file_size), limit_s_(limit_s) {}

  std::size_t next(std::size_t left) {
    began_s_ = elapsed_s();
    if (!limit_s_) return left;
    if (at_a_time_ == 0) return std::min<std::size_t>(left, std::max<std::uint64_t>(1, kFirst / file_size_));
    const double in_time = rate_ * (*limit_s_ - began_s_);
    if (in_time < 1) return 0;
    return std::min(left,
                    static_cast<std::size_t>(std::clamp(in_time / 2, 1.0, kGrowth * static_cast<double>(at_a_time_))));
  }
  void made(std::size_t files) {
    at_a_time_ = std::max<std::size_t>(files, 1);
    rate_ = static_cast<double>(files) / std::max(elapsed_s() - began_s_, 1e-6);
  }
  /// It was foreseen to end long before: the storage has become slower. Files under way are given up.
  bool late() const { return limit_s_ && elapsed_s() > kLate * *limit_s_; }

 private:
  static constexpr std::uint64_t kFirst = 4 << 20;  // [B], made at the start
  static constexpr double kGrowth = 4, kLate = 1.25;
  double elapsed_s() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const std::uint64_t file_size_;
  const std::optional<double> limit_s_;
  double rate_ = 0, began_s_ = 0;  // files per second; when the present ones were begun
  std::size_t at_a_time_ = 0;
};

}  // namespace headrace
