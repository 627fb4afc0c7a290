// Estimates from several repetitions of a rate over time, total work over total time, and of other values. Their bounds
// hold when neighbouring repetitions are alike and when stalls are rare.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headrace::statistics {

/// The strongest correlation between neighbouring repetitions that bounds allow for. That few values give no estimate,
/// so it is assumed.
constexpr double kCorrelation = 0.7;

/// Stalls that few repetitions may not have shown yet: one in ten of them slower by kStallDepth. Before 15 repetitions
/// one in five.
constexpr double kStallShare = 0.1, kStallDepth = 0.3;

/// Student's t, one-sided, for the mean of `n` (2 or more) values that follow one another with `correlation` (AR(1)).
/// With a chance of `alpha`, the mean of such values is `times` * standard error / sqrt(n) from the true one. The
/// standard error is the usual one. The effect of correlation on it and on its freedom is in the result.
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

/// The median of values that are no rate, with bounds that allow for correlation, too. They are the wider of the order
/// bounds of `rank` and of t bounds. Logarithms are used where all values are above 0.
Bounded median_bounds(std::span<const double> values, unsigned rank, double alpha);

}  // namespace headrace::statistics
