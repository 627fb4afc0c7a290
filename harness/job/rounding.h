// Rounding of counts: up for things to buy or start, down for consumers that can be fed.
#pragma once

#include <algorithm>
#include <cmath>

namespace headrace::job {

/// 128.00000000000003 is 128: floating-point noise buys nothing.
inline constexpr double kRoundingNoise = 1e-12;

inline double round_up(double x) { return std::ceil(x - kRoundingNoise * std::max(1.0, std::abs(x))); }
inline double round_down(double x) { return std::floor(x + kRoundingNoise * std::max(1.0, std::abs(x))); }

}  // namespace headrace::job
