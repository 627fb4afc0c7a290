// Seeded random numbers that are the same on every machine and with every compiler.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace headrace {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 .. limit-1 without a division; the bias is below limit / 2^64.
  std::uint64_t below(std::uint64_t limit) noexcept {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * limit) >> 64);
  }

 private:
  __extension__ typedef unsigned __int128 Wide;
  std::uint64_t state_;
};

/// Fisher and Yates: every order is as likely as every other.
template <class T>
void shuffle(std::span<T> items, Random& random) noexcept {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace headrace
