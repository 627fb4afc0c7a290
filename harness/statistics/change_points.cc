#include "harness/statistics/change_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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
    const double distance = (m * k / (m + k)) * (2 * across / (m * k) - 2 * left / (m * (m - 1)) -
                                                 2 * right / (k * (k - 1)));
    if (distance > best.distance) best = {cut, distance};
  }
  return best;
}

/// Is there a permutation as far apart? Stops at the first: with 1,999 of them none may be for p <
/// 0.001.
bool beats_all(std::vector<double> x, double distance, Draws& draws) {
  for (unsigned n = 0; n < kPermutations; ++n) {
    for (std::size_t i = x.size(); i > 1; --i) std::swap(x[i - 1], x[draws.below(i)]);
    if (best_cut(x).distance >= distance * (1 - 1e-12)) return false;
  }
  return true;
}

void divide(const std::vector<double>& logs, std::size_t from, std::size_t to, Draws& draws,
            std::vector<ChangePoint>& found) {
  if (to - from < 2 * kFewestInLevel) return;
  const std::vector<double> part(logs.begin() + static_cast<std::ptrdiff_t>(from),
                                 logs.begin() + static_cast<std::ptrdiff_t>(to));
  const Cut cut = best_cut(part);
  if (!(cut.distance > 0) || !beats_all(part, cut.distance, draws)) return;
  divide(logs, from, from + cut.at, draws, found);
  found.push_back({from + cut.at, 1.0 / (kPermutations + 1)});
  divide(logs, from + cut.at, to, draws, found);
}

/// How far the levels before and after the cut lie apart, as a logarithm.
double size_of(const std::vector<double>& logs, const std::vector<ChangePoint>& cuts,
               std::size_t i) {
  const std::size_t from = i == 0 ? 0 : cuts[i - 1].at, at = cuts[i].at,
                    to = i + 1 < cuts.size() ? cuts[i + 1].at : logs.size();
  const std::span<const double> all(logs);
  return std::abs(median(all.subspan(at, to - at)) - median(all.subspan(from, at - from)));
}

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> values, double delta,
                                       std::uint64_t seed) {
  if (values.size() < kFewestRuns) return {};
  const std::size_t skipped = values.size() > kLongestSeries ? values.size() - kLongestSeries : 0;
  std::vector<double> logs;
  for (const double v : values.subspan(skipped)) {
    if (!(v > 0) || !std::isfinite(v)) return {};
    logs.push_back(std::log(v));
  }
  Draws draws(seed);
  std::vector<ChangePoint> cuts;
  divide(logs, 0, logs.size(), draws, cuts);
  while (!cuts.empty()) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < cuts.size(); ++i)
      if (size_of(logs, cuts, i) < size_of(logs, cuts, least)) least = i;
    if (size_of(logs, cuts, least) >= std::log1p(delta)) break;
    cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(least));
  }
  for (ChangePoint& cut : cuts) cut.at += skipped;
  return cuts;
}

}  // namespace headrace::statistics
