// Seeded random numbers that are the same on every machine and with every compiler.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

namespace headrace {

/// One step of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). A
/// bijection whose results look random even for neighbouring values.
constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/// SplitMix64, as a sequence.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    const std::uint64_t drawn = mix(state_);
    state_ += 0x9e3779b97f4a7c15u;
    return drawn;
  }
  /// 0 .. limit-1 without a division; the bias is below limit / 2^64.
  std::uint64_t below(std::uint64_t limit) noexcept {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * limit) >> 64);
  }

 private:
  __extension__ typedef unsigned __int128 Wide;
  std::uint64_t state_;
};

/// A random order of 0 .. count-1 that needs no memory: step i, for i = 0 .. steps()-1, gives one
/// of them or, seldom more often than every other time, nothing. A bijective hash of the counter on
/// the next power of two.
class RandomOrder {
 public:
  RandomOrder(std::uint64_t count, std::uint64_t seed) noexcept
      : count_(count), mask_(std::bit_ceil(count) - 1), shift_((std::bit_width(mask_) + 1) / 2) {
    Random random(seed);
    start_ = random.next();
    for (std::uint64_t& factor : factors_) factor = random.next() | 1;
  }
  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t steps() const noexcept { return mask_ + 1; }
  /// False when this step gives nothing.
  bool at(std::uint64_t step, std::uint64_t& value) const noexcept {
    std::uint64_t x = (step + start_) & mask_;
    for (const std::uint64_t factor : factors_) {
      x = x * factor & mask_;
      x ^= x >> shift_;
    }
    value = x;
    return x < count_;
  }

 private:
  std::uint64_t count_, mask_, start_;
  int shift_;
  std::array<std::uint64_t, 3> factors_;
};

/// Fisher and Yates: every order is as likely as every other.
template <class T>
void shuffle(std::span<T> items, Random& random) noexcept {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace headrace
