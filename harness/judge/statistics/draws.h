// Seeded draws, the same in any language that copies these few lines (splitmix64).
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/base/random.h"

namespace headrace::statistics {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  std::uint64_t next() { return random_.next(); }
  /// 0 .. count-1.
  std::size_t below(std::size_t count) { return next() % count; }
  /// 0 <= x < 1.
  double share() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  Random random_;
};

}  // namespace headrace::statistics
