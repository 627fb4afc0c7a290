// When did a series change? Rules H3 to H5 of docs/explanation/fleets-and-history.md.
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
/// Levels explain a series when they are this much likelier than a drift (natural logarithm).
inline constexpr double kSurelyLevels = 3;

struct ChangePoint {
  std::size_t at = 0;  // first index of the new level
  double p = 1;
  bool alternates = false;  // one of two levels that come and go: `p` is of their order, and may be above kChangeLimit
};

/// E-divisive with circular segments. It cuts out the stretch of 3 values or more with the largest energy distance from
/// the rest. At most five in a thousand permutations (fixed seed) may have one as far apart. First stretches at one end
/// (a step), else any (a level that came and went); then each part again. A part of 10 or more values without such a
/// stretch is cut between two humps (two_humps()), if any. Works on logarithms, where a value is 0 or less on the
/// values themselves. Cuts whose levels (medians) differ by less than `delta` either way are taken back, smallest
/// first. In order. Permutations know no neighbours: ask wanders() of the result.
///
/// Sources: Matteson and James 2014 (E-divisive), Olshen et al. 2004 (circular segments).
std::vector<ChangePoint> change_points(std::span<const double> values, double delta, std::uint64_t seed = 1);

/// Correlation of values one run apart, beyond the levels. 0 where the levels do not vary.
double correlation_within(std::span<const double> values, const std::vector<ChangePoint>& cuts);

/// May it be a drift? True unless independent values at these levels are likelier than an AR(1) process without levels.
/// The margin is kSurelyLevels beyond the cost of each cut (BIC: the logarithm of the number of values).
bool wanders(std::span<const double> values, const std::vector<ChangePoint>& cuts);

}  // namespace headrace::statistics
