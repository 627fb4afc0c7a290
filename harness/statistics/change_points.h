// When did a series change? Rules H3 to H5 of docs/statistics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::statistics {

inline constexpr double kChangeLimit = 0.005;    // p of a change point
inline constexpr unsigned kPermutations = 1999;  // so that the least p is 0.0005
inline constexpr unsigned kFewestRuns = 10, kFewestInLevel = 3;
inline constexpr std::size_t kLongestSeries = 400;
/// Runs whose correlation within levels is more than this over the root of their number wander.
inline constexpr double kWandering = 0.5;

struct ChangePoint {
  std::size_t at = 0;  // first index of the new level
  double p = 1;
};

/// E-divisive: the series is cut where the energy distance between both sides is largest, when no
/// more than five in a thousand of its permutations (fixed seed) can be cut that far apart; then
/// both sides alike. Works on logarithms, where a value is 0 or less on the values themselves. Cuts
/// whose levels (medians) differ by less than `delta` either way are taken back, smallest first. In
/// order. Permutations know no neighbours: ask wanders() of the result.
std::vector<ChangePoint> change_points(std::span<const double> values, double delta, std::uint64_t seed = 1);

/// How alike neighbours of the same level are beyond the level itself: correlation of values one
/// run apart. 0 where the levels do not vary.
double correlation_within(std::span<const double> values, const std::vector<ChangePoint>& cuts);

/// Runs that go on from where the last one was look like levels that change. With such a
/// correlation within what were taken for levels, the changes may be that.
bool wanders(double correlation, std::size_t runs);

}  // namespace headrace::statistics
