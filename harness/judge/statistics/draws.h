// Seeded draws, the same in any language that copies these few lines (splitmix64).
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::statistics {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 .. count-1.
  std::size_t below(std::size_t count) { return next() % count; }
  /// 0 <= x < 1.
  double share() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace headrace::statistics
