// When did a series change? Rule 12. docs/statistics.md tells it to users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::statistics {

inline constexpr double kChangeLimit = 0.001;    // p of a change point
inline constexpr unsigned kPermutations = 1999;  // so that the least p is 0.0005
inline constexpr unsigned kFewestRuns = 10, kFewestInLevel = 3;
inline constexpr std::size_t kLongestSeries = 400;

struct ChangePoint {
  std::size_t at = 0;  // first index of the new level
  double p = 1;
};

/// E-divisive: the series is cut where the energy distance between both sides is largest, when no
/// more than one in a thousand of its permutations (fixed seed) can be cut that far apart; then
/// both sides alike. Works on logarithms: values must be above 0, else there are none. Cuts whose
/// levels (medians) differ by less than `delta` either way are taken back, smallest first. In
/// order.
std::vector<ChangePoint> change_points(std::span<const double> values, double delta,
                                       std::uint64_t seed = 1);

}  // namespace headrace::statistics
