// Data whose every collective result is known exactly: small whole numbers, so that each sum is held, in whatever order it
// was added.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/collective.h"
#include "workloads/network/elements.h"

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

/// Which data a collective is checked with: numbers of this type, made one in this way.
struct Numbers {
  NcclElement element = NcclElement::f32;
  NcclReduction reduction = NcclReduction::sum;
};

/// Of `what` among `size` ranks with `count` elements each; `rank` is this one. Elements are asked for one by one, so
/// that buffers of any size can be filled and checked in pieces.
///
/// Every rank brings whole numbers of which the type has the sum. Where it has not, and of the largest and the smallest,
/// one rank brings element i's result, each in turn, and the others what leaves it as it is.
class ExpectedSums {
 public:
  ExpectedSums(Collective what, unsigned rank, unsigned size, std::uint64_t count, Numbers of = {})
      : what_(what),
        rank_(rank),
        size_(size),
        count_(count),
        part_(count / size),
        of_(of),
        one_brings_(reduces(what) &&
                    (of.reduction != NcclReduction::sum || std::uint64_t{kValues} * size > largest_whole(of.element))),
        sum_(size) {}

  /// Element `i` of what this rank brings. In place, its own part lies where it will be in the end.
  float brought(std::uint64_t i, bool in_place) const noexcept {
    if (one_brings_) return i % size_ == rank_ ? chosen(i) : of_.reduction == NcclReduction::min ? kValues : 0;
    if (what_ == Collective::scatter) return rank_value(0, i);
    if (what_ != Collective::all_gather && what_ != Collective::gather) return rank_value(rank_, i);
    const std::uint64_t begin = in_place ? rank_ * part_ : 0;
    return i >= begin && i < begin + part_ ? rank_value(rank_, i - begin) : 0;
  }
  /// All that this rank brings, `in` having room for count elements.
  void fill(float* in, bool in_place) const noexcept {
    for (std::uint64_t i = 0; i < count_; ++i) in[i] = brought(i, in_place);
  }
  /// `n` elements from `first` on.
  void fill(unsigned char* to, std::uint64_t first, std::uint64_t n, bool in_place) const noexcept {
    for (std::uint64_t i = 0; i < n; ++i) put_element(to, i, brought(first + i, in_place), of_.element);
  }
  /// Which of `n` elements of the result, from `first` on, which `out` holds, is wrong; nothing when none is.
  std::optional<std::string> wrong(const float* out, std::uint64_t first, std::uint64_t n) const {
    return wrong(reinterpret_cast<const unsigned char*>(out), first, n);
  }
  std::optional<std::string> wrong(const unsigned char* out, std::uint64_t first, std::uint64_t n) const {
    for (std::uint64_t i = 0; i < n; ++i) {
      const float right = result(first + i);
      if (const std::uint32_t bits = bits_at(out, i, of_.element); bits != element_bits(right, of_.element))
        return fmt::format("wrong data: element {} is {}, must be {}", first + i, element_value(bits, of_.element),
                           right);
    }
    return std::nullopt;
  }
  /// Where the result lies in its buffer: first element, and how many.
  std::uint64_t first(bool in_place) const noexcept {
    const bool own_part = what_ == Collective::reduce_scatter || what_ == Collective::scatter;
    return own_part && in_place ? rank_ * part_ : 0;
  }
  std::uint64_t results() const noexcept {
    if (what_ == Collective::reduce || what_ == Collective::gather) return rank_ == 0 ? count_ : 0;
    return what_ == Collective::reduce_scatter || what_ == Collective::scatter ? part_ : count_;
  }
  /// Element `i` of the result.
  float result(std::uint64_t i) const noexcept {
    switch (what_) {
      case Collective::all_reduce:
      case Collective::reduce:
        return reduced(i);
      case Collective::all_gather:
      case Collective::gather:
        return rank_value(static_cast<unsigned>(i / part_), i % part_);
      case Collective::reduce_scatter:
        return reduced(rank_ * part_ + i);
      case Collective::broadcast:
        return rank_value(0, i);
      case Collective::scatter:
        return rank_value(0, rank_ * part_ + i);
      case Collective::all_to_all:
        return rank_value(static_cast<unsigned>(i / part_), rank_ * part_ + i % part_);
      case Collective::send_recv:
        return rank_value((rank_ + size_ - 1) % size_, i);
    }
    return 0;
  }

 private:
  /// 1 to 7; of the smallest 0 to 6.
  float chosen(std::uint64_t i) const noexcept {
    return rank_value(1, i) - (of_.reduction == NcclReduction::min ? 1.0f : 0.0f);
  }
  float reduced(std::uint64_t i) const noexcept { return one_brings_ ? chosen(i) : sum_(i); }

  Collective what_;
  unsigned rank_, size_;
  std::uint64_t count_, part_;
  Numbers of_;
  bool one_brings_;  // of each element one rank what is its result
  SumOfRanks sum_;
};

}  // namespace headrace::network
