#include "harness/statistics/change_points.h"

#include <algorithm>
#include <cmath>

#include "harness/statistics/draws.h"
#include "harness/statistics/summary.h"

namespace headrace::statistics {
namespace {

/// Where the energy distance between [0, at) and [at, n) is largest.
struct Cut {
  std::size_t at = 0;
  double distance = -HUGE_VAL;
};

Cut best_cut(const std::vector<double>& x) {
  const std::size_t n = x.size();
  // Sums of |a - b| within the left side, within the right, and across, as the cut moves on.
  double left = 0, right = 0, across = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) right += std::abs(x[i] - x[j]);
  Cut best;
  for (std::size_t cut = 1; cut < n; ++cut) {
    const double moved = x[cut - 1];
    double to_left = 0, to_right = 0;
    for (std::size_t i = 0; i + 1 < cut; ++i) to_left += std::abs(x[i] - moved);
    for (std::size_t j = cut; j < n; ++j) to_right += std::abs(x[j] - moved);
    left += to_left;
    right -= to_right;
    across += to_right - to_left;
    if (cut < kFewestInLevel || n - cut < kFewestInLevel) continue;
    const auto m = static_cast<double>(cut), k = static_cast<double>(n - cut);
    const double distance =
        (m * k / (m + k)) * (2 * across / (m * k) - 2 * left / (m * (m - 1)) - 2 * right / (k * (k - 1)));
    if (distance > best.distance) best = {cut, distance};
  }
  return best;
}

/// The share of permutations that can be cut as far apart, this series among them; 1 as soon as
/// there are too many.
double chance_of(std::vector<double> x, double distance, Draws& draws) {
  constexpr auto kMost = static_cast<unsigned>(kChangeLimit * (kPermutations + 1));
  unsigned as_far = 1;
  for (unsigned n = 0; n < kPermutations; ++n) {
    for (std::size_t i = x.size(); i > 1; --i) std::swap(x[i - 1], x[draws.below(i)]);
    if (best_cut(x).distance >= distance * (1 - 1e-12) && ++as_far > kMost) return 1;
  }
  return static_cast<double>(as_far) / (kPermutations + 1);
}

void divide(const std::vector<double>& values, std::size_t from, std::size_t to, Draws& draws,
            std::vector<ChangePoint>& found) {
  if (to - from < 2 * kFewestInLevel) return;
  const std::vector<double> part(values.begin() + static_cast<std::ptrdiff_t>(from),
                                 values.begin() + static_cast<std::ptrdiff_t>(to));
  const Cut cut = best_cut(part);
  if (!(cut.distance > 0)) return;
  const double p = chance_of(part, cut.distance, draws);
  if (p > kChangeLimit) return;
  divide(values, from, from + cut.at, draws, found);
  found.push_back({from + cut.at, p});
  divide(values, from + cut.at, to, draws, found);
}

/// How far the levels before and after the cut lie apart, as a logarithm: without bound where one
/// of them is 0.
double size_of(std::span<const double> values, const std::vector<ChangePoint>& cuts, std::size_t i) {
  const std::size_t from = i == 0 ? 0 : cuts[i - 1].at, at = cuts[i].at,
                    to = i + 1 < cuts.size() ? cuts[i + 1].at : values.size();
  const double before = median(values.subspan(from, at - from)), after = median(values.subspan(at, to - at));
  if (before == after) return 0;
  return before > 0 && after > 0 ? std::abs(std::log(after / before)) : HUGE_VAL;
}

/// Logarithms, as far as there are any.
std::vector<double> scaled(std::span<const double> values) {
  std::vector<double> all(values.begin(), values.end());
  if (std::all_of(all.begin(), all.end(), [](double v) { return v > 0; }))
    for (double& v : all) v = std::log(v);
  return all;
}

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> values, double delta, std::uint64_t seed) {
  if (values.size() < kFewestRuns) return {};
  const std::size_t skipped = values.size() > kLongestSeries ? values.size() - kLongestSeries : 0;
  const std::span<const double> judged = values.subspan(skipped);
  const std::vector<double> logs = scaled(judged);
  Draws draws(seed);
  std::vector<ChangePoint> cuts;
  divide(logs, 0, logs.size(), draws, cuts);
  while (!cuts.empty()) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < cuts.size(); ++i)
      if (size_of(judged, cuts, i) < size_of(judged, cuts, least)) least = i;
    if (size_of(judged, cuts, least) >= std::log1p(delta)) break;
    cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(least));
  }
  for (ChangePoint& cut : cuts) cut.at += skipped;
  return cuts;
}

double correlation_within(std::span<const double> values, const std::vector<ChangePoint>& cuts) {
  const std::vector<double> x = scaled(values);
  double together = 0, all = 0;
  for (std::size_t level = 0, from = 0; level <= cuts.size(); ++level) {
    const std::size_t to = level < cuts.size() ? cuts[level].at : x.size();
    double mean = 0;
    for (std::size_t i = from; i < to; ++i) mean += x[i] / static_cast<double>(to - from);
    for (std::size_t i = from; i < to; ++i) {
      all += (x[i] - mean) * (x[i] - mean);
      if (i + 1 < to) together += (x[i] - mean) * (x[i + 1] - mean);
    }
    from = to;
  }
  return all > 0 ? together / all : 0;
}

bool wanders(double correlation, std::size_t runs) {
  return correlation * std::sqrt(static_cast<double>(runs)) > kWandering;
}

}  // namespace headrace::statistics
