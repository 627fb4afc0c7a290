// Summaries and bounds of repetitions (rules 1 to 3): medians, order bounds for gates, bootstrap
// intervals.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/base/median.h"

namespace headrace::statistics {

/// A bootstrap 95 % percentile interval of the median (10,000 draws, fixed seed) from 6 values on. By rank from 1,000
/// on. fewer: the range.
struct Interval {
  double low = 0, high = 0;
  bool is_range = false;  // minimum and maximum, not an interval
};
Interval median_interval(std::span<const double> values, std::uint64_t seed = 1);
/// The same of the mean over time of rates that took `seconds` each. From 1,000 values on by the normal distribution.
Interval rate_interval(std::span<const double> rates, std::span<const double> seconds, std::uint64_t seed = 1);

/// When to look (repetitions taken in all) and which order statistic bounds the median at each look. Ranks are the
/// largest that pass a system with its true median at the need by at most `alpha`, exact. 5/10/15 gives ranks 1, 2, 4
/// and 4.6 %. A rank of 0 = no bound yet. Bounds of means, which are no order statistics, share `alpha` out by the cube
/// of the repetitions. Looking early costs the last look little.
struct LookPlan {
  std::vector<unsigned> looks;
  std::vector<unsigned> ranks;
  std::vector<double> alphas;  // the chance that each look may spend, one-sided
  double error = 0;            // the exact chance over all looks, of the ranks
};
LookPlan plan_looks(std::vector<unsigned> looks, double alpha = 0.05);

/// One look more, at twice as many repetitions as the last, for values that turned out to be
/// correlated. It spends a tenth of `alpha` on top.
void add_look(LookPlan& plan, double alpha = 0.05);

/// The chance that bounds may spend after that many repetitions: as rank_for().
double alpha_for(const LookPlan& plan, std::size_t repetitions);

/// The rank that holds for that many repetitions: that of the latest look they reach; 0 before the
/// first. Between looks an earlier look's rank is only more cautious.
unsigned rank_for(const LookPlan& plan, std::size_t repetitions);

/// Bounds from the k-th worst and k-th best value (rank k of the plan). Infinite when k is 0.
struct Bounds {
  double low = 0, high = 0;
  unsigned rank = 0;
};
Bounds order_bounds(std::span<const double> values, unsigned rank);

/// True when the values (5 or more) form two groups, each with a fifth of them and two at least. Their distance is more
/// than 5 % of the median and twice the spread of either group. The gap goes from *below to *above.
bool two_humped(std::span<const double> values, double* below, double* above);

}  // namespace headrace::statistics
