// Medians, bootstrap intervals and order bounds.
#include "harness/judge/statistics/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/judge/statistics/draws.h"

namespace headrace::statistics {
namespace {

constexpr std::size_t kFewestForBootstrap = 6;
constexpr std::size_t kFewestForRanks = 1000;  // there the draws end at these ranks, too
constexpr int kDraws = 10'000;

// Linear interpolation between order statistics, as numpy.quantile does by default.
double quantile_of_sorted(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Interval rate_interval(std::span<const double> rates, std::span<const double> seconds, std::uint64_t seed) {
  const std::size_t n = rates.size();
  if (n < kFewestForBootstrap) {
    const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
    return {*low, *high, true};
  }
  const auto mean_of = [&](auto&& at) {
    double work = 0, time = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t k = at(i);
      work += rates[k] * seconds[k];
      time += seconds[k];
    }
    return work / time;
  };
  if (n >= kFewestForRanks) {
    const double mean = mean_of([](std::size_t i) { return i; }),
                 time = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) squares += std::pow((rates[i] - mean) * seconds[i] / time, 2);
    return {mean - 1.96 * std::sqrt(squares), mean + 1.96 * std::sqrt(squares), false};
  }
  std::vector<double> means;
  means.reserve(kDraws);
  Draws draws(seed);
  for (int i = 0; i < kDraws; ++i) means.push_back(mean_of([&](std::size_t) { return draws.below(n); }));
  std::sort(means.begin(), means.end());
  return {quantile_of_sorted(means, 0.025), quantile_of_sorted(means, 0.975), false};
}

Interval median_interval(std::span<const double> values, std::uint64_t seed) {
  if (values.size() < kFewestForBootstrap) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return {*low, *high, true};
  }
  if (values.size() >= kFewestForRanks) {
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const auto n = static_cast<double>(sorted.size());
    const auto below = static_cast<std::size_t>((n - 1.96 * std::sqrt(n)) / 2);
    return {sorted[below], sorted[sorted.size() - 1 - below], false};
  }
  std::vector<double> medians;
  medians.reserve(kDraws);
  std::vector<double> draw(values.size());
  Draws draws(seed);
  for (int i = 0; i < kDraws; ++i) {
    for (double& value : draw) value = values[draws.below(values.size())];
    medians.push_back(median_in_place(draw));
  }
  std::sort(medians.begin(), medians.end());
  return {quantile_of_sorted(medians, 0.025), quantile_of_sorted(medians, 0.975), false};
}

LookPlan plan_looks(std::vector<unsigned> looks, double alpha) {
  std::sort(looks.begin(), looks.end());
  looks.erase(std::unique(looks.begin(), looks.end()), looks.end());
  std::erase(looks, 0u);
  LookPlan plan;
  plan.looks = looks;
  // chance[c]: no look has passed yet and c values so far are on the bad side of the need. With the true median exactly
  // at the need each value does so with probability 1/2. Rank k passes when c <= k - 1.
  std::vector<double> chance{1};
  unsigned taken = 0;
  for (const unsigned look : looks) {
    for (; taken < look; ++taken) {
      chance.push_back(0);
      for (std::size_t c = chance.size() - 1; c > 0; --c) chance[c] = (chance[c] + chance[c - 1]) / 2;
      chance[0] /= 2;
    }
    unsigned rank = 0;
    while (rank < chance.size() && plan.error + chance[rank] <= alpha) {
      plan.error += chance[rank];
      chance[rank] = 0;
      ++rank;
    }
    plan.ranks.push_back(rank);
    const double spent = std::accumulate(plan.alphas.begin(), plan.alphas.end(), 0.0);
    plan.alphas.push_back(alpha * std::pow(static_cast<double>(look) / looks.back(), 3) - spent);
  }
  return plan;
}

void add_look(LookPlan& plan, double alpha) {
  plan.looks.push_back(2 * plan.looks.back());
  plan.ranks.push_back(plan.ranks.back());
  plan.alphas.push_back(alpha / 10);
}

double alpha_for(const LookPlan& plan, std::size_t repetitions) {
  double alpha = 0;
  for (std::size_t i = 0; i < plan.looks.size() && plan.looks[i] <= repetitions; ++i) alpha = plan.alphas[i];
  return alpha;
}

unsigned rank_for(const LookPlan& plan, std::size_t repetitions) {
  unsigned rank = 0;
  for (std::size_t i = 0; i < plan.looks.size() && plan.looks[i] <= repetitions; ++i) rank = plan.ranks[i];
  return rank;
}

Bounds order_bounds(std::span<const double> values, unsigned rank) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (rank == 0 || rank > values.size()) return {-kInfinity, kInfinity, 0};
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return {sorted[rank - 1], sorted[sorted.size() - rank], rank};
}

bool two_humped(std::span<const double> values, double* below, double* above) {
  constexpr double kSmallestShare = 0.2;  // of the values, in the smaller hump
  constexpr double kSmallestGap = 0.05;   // of the median
  constexpr double kGapToSpread = 2;      // a gap is wider than the humps themselves
  if (values.size() < 5) return false;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::size_t cut = 1;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] > sorted[cut] - sorted[cut - 1]) cut = i;
  }
  const double gap = sorted[cut] - sorted[cut - 1];
  const auto smaller = static_cast<double>(std::min(cut, sorted.size() - cut));
  const double spread = std::max(sorted[cut - 1] - sorted.front(), sorted.back() - sorted[cut]);
  if (smaller < 2 || smaller < kSmallestShare * static_cast<double>(sorted.size())) return false;
  if (gap <= kSmallestGap * std::abs(median(sorted)) || gap < kGapToSpread * spread) return false;
  *below = sorted[cut - 1];
  *above = sorted[cut];
  return true;
}

}  // namespace headrace::statistics
