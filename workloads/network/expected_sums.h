// Data whose every collective result is known exactly: small whole numbers, so that float holds each sum, in whatever
// order it was added.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/collective.h"

namespace headrace::network {

/// Element `i` of what a rank brings: a whole number from 1 to 7.
inline constexpr unsigned kValues = 7;
constexpr float rank_value(unsigned rank, std::uint64_t i) noexcept {
  return static_cast<float>((std::uint64_t{rank} * 5 + i) % kValues + 1);
}

/// The sum of all ranks' element `i`, at the price of one look whatever the number of ranks: it depends on i mod 7 alone.
/// Exact in float to more than two million ranks.
class SumOfRanks {
 public:
  explicit SumOfRanks(unsigned ranks) noexcept {
    for (unsigned r = 0; r < ranks; ++r)
      for (unsigned i = 0; i < kValues; ++i) sums_[i] += rank_value(r, i);
  }
  float operator()(std::uint64_t i) const noexcept { return sums_[i % kValues]; }

 private:
  std::array<float, kValues> sums_{};
};

/// Of `what` among `size` ranks with `count` elements each; `rank` is this one. Elements are asked for one by one, so
/// that buffers of any size can be filled and checked in pieces.
class ExpectedSums {
 public:
  ExpectedSums(Collective what, unsigned rank, unsigned size, std::uint64_t count)
      : what_(what), rank_(rank), size_(size), count_(count), part_(count / size), sum_(size) {}

  /// Element `i` of what this rank brings. In place, all_gather's own part lies where it will be in the end.
  float brought(std::uint64_t i, bool in_place) const noexcept {
    if (what_ != Collective::all_gather) return rank_value(rank_, i);
    const std::uint64_t begin = in_place ? rank_ * part_ : 0;
    return i >= begin && i < begin + part_ ? rank_value(rank_, i - begin) : 0;
  }
  /// All that this rank brings, `in` having room for count elements.
  void fill(float* in, bool in_place) const noexcept {
    for (std::uint64_t i = 0; i < count_; ++i) in[i] = brought(i, in_place);
  }
  /// Which of `n` elements of the result, from `first` on, which `out` holds, is wrong; nothing when none is.
  std::optional<std::string> wrong(const float* out, std::uint64_t first, std::uint64_t n) const {
    for (std::uint64_t i = 0; i < n; ++i) {
      if (const float right = result(first + i); out[i] != right)
        return fmt::format("wrong data: element {} is {}, must be {}", first + i, out[i], right);
    }
    return std::nullopt;
  }
  /// Where the result lies in its buffer: first element, and how many.
  std::uint64_t first(bool in_place) const noexcept {
    return what_ == Collective::reduce_scatter && in_place ? rank_ * part_ : 0;
  }
  std::uint64_t results() const noexcept { return what_ == Collective::reduce_scatter ? part_ : count_; }
  /// Element `i` of the result.
  float result(std::uint64_t i) const noexcept {
    switch (what_) {
      case Collective::all_reduce:
        return sum_(i);
      case Collective::all_gather:
        return rank_value(static_cast<unsigned>(i / part_), i % part_);
      case Collective::reduce_scatter:
        return sum_(rank_ * part_ + i);
      case Collective::broadcast:
        return rank_value(0, i);
      case Collective::all_to_all:
        return rank_value(static_cast<unsigned>(i / part_), rank_ * part_ + i % part_);
      case Collective::send_recv:
        return rank_value((rank_ + size_ - 1) % size_, i);
    }
    return 0;
  }

 private:
  Collective what_;
  unsigned rank_, size_;
  std::uint64_t count_, part_;
  SumOfRanks sum_;
};

}  // namespace headrace::network
