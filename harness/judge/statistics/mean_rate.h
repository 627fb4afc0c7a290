// What several repetitions say of a rate over time, total work over total time, and of other
// values, with bounds that hold when neighbouring repetitions are alike and when stalls are rare.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headrace::statistics {

/// The strongest correlation of a repetition with the next that bounds allow for: of that few values
/// it cannot be estimated, so that it is assumed.
constexpr double kCorrelation = 0.7;

/// Stalls that few repetitions may not have shown yet: one in ten of them slower by so much. Before
/// 15 repetitions one in five.
constexpr double kStallShare = 0.1, kStallDepth = 0.3;

/// Student's t for the mean of `n` (2 or more) values of which each follows the one before with
/// `correlation` (AR(1)), one-sided: the mean of such values is `times` * standard error / sqrt(n)
/// from the true one with a chance of `alpha`. The standard error is the usual one: what
/// correlation does to it and to its freedom is in the result.
double correlated_t(std::size_t n, double alpha, double correlation = kCorrelation);

/// How alike neighbours are: the first autocorrelation, its bias for few values taken off; 0 where
/// that cannot be reported. `certain`: chance alone explains it in fewer than one in twenty cases.
struct Alike {
  double correlation = 0;
  bool certain = false;
};
Alike alike(std::span<const double> values);

/// An estimate and its bounds: each is wrong with a chance of at most `alpha`.
struct Bounded {
  double value = 0, low = 0, high = 0;
};
/// Total work over total time.
/// `rates` of repetitions that took `seconds` each. Two or more; all seconds above 0, no rate
/// below.
Bounded mean_rate(std::span<const double> rates, std::span<const double> seconds, double alpha);

/// The median of values that are no rate, with bounds that allow for correlation, too: the wider of
/// the order bounds of `rank` and of t bounds (of logarithms where all values are above 0).
Bounded median_bounds(std::span<const double> values, unsigned rank, double alpha);

}  // namespace headrace::statistics
