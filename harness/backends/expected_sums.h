// Data whose collective results are all known exactly: small whole numbers, so that sums are exact in any order. The
// same for kernels and for the host; results are compared bit by bit.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/backends/collective.h"
#include "harness/backends/gpu_pattern.h"

namespace headrace {

/// Types of numbers, in the order of kNcclElements.
enum class NcclElement { f32, f16, bf16, f8e4m3, f8e5m2 };
inline constexpr std::array<const char*, 5> kNcclElements{"f32", "f16", "bf16", "f8e4m3", "f8e5m2"};
/// The reduction of the ranks' numbers, in the order of kNcclReductions.
enum class NcclReduction { sum, max, min };
inline constexpr std::array<const char*, 3> kNcclReductions{"sum", "max", "min"};

/// How a type of floating-point number is made.
struct ElementLayout {
  unsigned bytes, mantissa_bits, bias;
};
HEADRACE_ON_GPU_TOO constexpr ElementLayout layout_of(NcclElement e) {
  switch (e) {
    case NcclElement::f32:
      return {4, 23, 127};
    case NcclElement::f16:
      return {2, 10, 15};
    case NcclElement::bf16:
      return {2, 7, 127};
    case NcclElement::f8e4m3:
      return {1, 3, 7};
    case NcclElement::f8e5m2:
      break;
  }
  return {1, 2, 15};
}

/// Up to here the type has every whole number.
constexpr std::uint64_t largest_whole(NcclElement e) { return std::uint64_t{2} << layout_of(e).mantissa_bits; }

/// `value`: 0, or a whole number up to largest_whole(e).
HEADRACE_ON_GPU_TOO inline std::uint32_t element_bits(float value, NcclElement e) noexcept {
  const ElementLayout layout = layout_of(e);
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  if (bits == 0) return 0;
  const std::uint32_t exponent = (bits >> 23) + layout.bias - 127, fraction = bits & 0x7fffffu;
  return exponent << layout.mantissa_bits | fraction >> (23 - layout.mantissa_bits);
}

/// `to` is where elements of this type may be.
HEADRACE_ON_GPU_TOO inline void put_element(void* to, std::uint64_t i, float value, NcclElement e) noexcept {
  const std::uint32_t bits = element_bits(value, e);
  if (layout_of(e).bytes == 4)
    static_cast<std::uint32_t*>(to)[i] = bits;
  else if (layout_of(e).bytes == 2)
    static_cast<std::uint16_t*>(to)[i] = static_cast<std::uint16_t>(bits);
  else
    static_cast<std::uint8_t*>(to)[i] = static_cast<std::uint8_t>(bits);
}
HEADRACE_ON_GPU_TOO inline std::uint32_t bits_at(const void* from, std::uint64_t i, NcclElement e) noexcept {
  return layout_of(e).bytes == 4   ? static_cast<const std::uint32_t*>(from)[i]
         : layout_of(e).bytes == 2 ? static_cast<const std::uint16_t*>(from)[i]
                                   : static_cast<const std::uint8_t*>(from)[i];
}
/// What the bits of a normal number mean; of others something that is no whole number.
inline float element_value(std::uint32_t bits, NcclElement e) noexcept {
  const ElementLayout layout = layout_of(e);
  if (bits == 0) return 0;
  const std::uint32_t sign = bits >> (8 * layout.bytes - 1) << 31;
  const std::uint32_t body = bits & ((1u << (8 * layout.bytes - 1)) - 1);
  const std::uint32_t exponent = (body >> layout.mantissa_bits) + 127 - layout.bias;
  const std::uint32_t fraction = body & ((1u << layout.mantissa_bits) - 1);
  const std::uint32_t as_float = sign | exponent << 23 | fraction << (23 - layout.mantissa_bits);
  float value = 0;
  std::memcpy(&value, &as_float, sizeof value);
  return value;
}

/// Element `i` of what a rank brings: a whole number from 1 to 7.
inline constexpr unsigned kValues = 7;
HEADRACE_ON_GPU_TOO constexpr float rank_value(unsigned rank, std::uint64_t i) noexcept {
  return static_cast<float>((std::uint64_t{rank} * 5 + i) % kValues + 1);
}

/// The sum of all ranks' element `i`. It depends on i mod 7 alone, so its cost does not depend on the number of ranks.
/// Exact in float to more than two million ranks.
class SumOfRanks {
 public:
  explicit SumOfRanks(unsigned ranks) noexcept {
    for (unsigned r = 0; r < ranks; ++r)
      for (unsigned i = 0; i < kValues; ++i) sums_[i] += rank_value(r, i);
  }
  HEADRACE_ON_GPU_TOO float operator()(std::uint64_t i) const noexcept { return sums_[i % kValues]; }

 private:
  float sums_[kValues]{};
};

/// Which data a collective is checked with: numbers of this type, made one in this way.
struct Numbers {
  NcclElement element = NcclElement::f32;
  NcclReduction reduction = NcclReduction::sum;
};

/// Elements of a result that are not as they must be.
struct GpuWrongElements {
  unsigned long long count = 0, first = ~0ull;
};

/// The elements for `what` among `size` ranks with `count` elements each; `rank` is this one. Elements are computed one
/// by one, so that any number of threads can fill and check buffers of any size.
/// Every rank brings whole numbers of which the type has the sum. Otherwise, and for the largest and the smallest, one
///rank in turn brings element i's result. The others bring a neutral value.
class ExpectedSums {
 public:
  /// `parts`: of all_to_all_v, where the part for each rank begins, and the end.
  ExpectedSums(Collective what, unsigned rank, unsigned size, std::uint64_t count, Numbers of = {},
               const std::vector<std::uint64_t>& parts = {})
      : what_(what),
        rank_(rank),
        size_(size),
        count_(count),
        part_(parts.empty() ? count / size : parts[rank + 1] - parts[rank]),
        begin_(parts.empty() ? rank * part_ : parts[rank]),
        of_(of),
        one_brings_(reduces(what) &&
                    (of.reduction != NcclReduction::sum || std::uint64_t{kValues} * size > largest_whole(of.element))),
        sum_(size) {}

  NcclElement element() const noexcept { return of_.element; }
  HEADRACE_ON_GPU_TOO std::uint64_t count() const noexcept { return count_; }

  /// Element `i` of what this rank brings. In place, its own part lies where it will be in the end.
  HEADRACE_ON_GPU_TOO float brought(std::uint64_t i, bool in_place) const noexcept {
    if (one_brings_) return i % size_ == rank_ ? chosen(i) : of_.reduction == NcclReduction::min ? kValues : 0;
    if (what_ == Collective::scatter) return rank_value(0, i);
    if (what_ != Collective::all_gather && what_ != Collective::gather) return rank_value(rank_, i);
    const std::uint64_t begin = in_place ? begin_ : 0;
    return i >= begin && i < begin + part_ ? rank_value(rank_, i - begin) : 0;
  }
  HEADRACE_ON_GPU_TOO void bring(void* in, std::uint64_t i, bool in_place) const noexcept {
    put_element(in, i, brought(i, in_place), of_.element);
  }
  /// All that this rank brings, `in` having room for count elements.
  void fill(void* in, bool in_place) const noexcept {
    for (std::uint64_t i = 0; i < count_; ++i) bring(in, i, in_place);
  }
  HEADRACE_ON_GPU_TOO bool is_right(const void* out, std::uint64_t i) const noexcept {
    return bits_at(out, i, of_.element) == element_bits(result(i), of_.element);
  }
  /// The wrong elements of the result, which begins at `out`.
  GpuWrongElements wrong(const void* out) const noexcept {
    GpuWrongElements found;
    for (std::uint64_t i = results(); i-- > 0;)
      if (!is_right(out, i)) {
        ++found.count;
        found.first = i;
      }
    return found;
  }
  /// Where the result lies in its buffer: first element, and how many.
  std::uint64_t first(bool in_place) const noexcept {
    const bool own_part = what_ == Collective::reduce_scatter || what_ == Collective::scatter;
    return own_part && in_place ? begin_ : 0;
  }
  HEADRACE_ON_GPU_TOO std::uint64_t results() const noexcept {
    if (what_ == Collective::reduce || what_ == Collective::gather) return rank_ == 0 ? count_ : 0;
    if (what_ == Collective::all_to_all_v) return size_ * part_;
    return what_ == Collective::reduce_scatter || what_ == Collective::scatter ? part_ : count_;
  }
  /// Element `i` of the result.
  HEADRACE_ON_GPU_TOO float result(std::uint64_t i) const noexcept {
    switch (what_) {
      case Collective::all_reduce:
      case Collective::reduce:
        return reduced(i);
      case Collective::all_gather:
      case Collective::gather:
        return rank_value(static_cast<unsigned>(i / part_), i % part_);
      case Collective::reduce_scatter:
        return reduced(begin_ + i);
      case Collective::broadcast:
        return rank_value(0, i);
      case Collective::scatter:
        return rank_value(0, begin_ + i);
      case Collective::all_to_all:
      case Collective::all_to_all_v:
        return rank_value(static_cast<unsigned>(i / part_), begin_ + i % part_);
      case Collective::send_recv:
        return rank_value((rank_ + size_ - 1) % size_, i);
    }
    return 0;
  }

 private:
  /// 1 to 7; of the smallest 0 to 6.
  HEADRACE_ON_GPU_TOO float chosen(std::uint64_t i) const noexcept {
    return rank_value(1, i) - (of_.reduction == NcclReduction::min ? 1.0f : 0.0f);
  }
  HEADRACE_ON_GPU_TOO float reduced(std::uint64_t i) const noexcept { return one_brings_ ? chosen(i) : sum_(i); }

  Collective what_;
  unsigned rank_, size_;
  std::uint64_t count_, part_, begin_;  // of elements; of this rank's own part
  Numbers of_;
  bool one_brings_;  // one rank gives the result of each element
  SumOfRanks sum_;
};

}  // namespace headrace
