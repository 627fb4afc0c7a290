#include "harness/judge/statistics/change_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/judge/statistics/draws.h"
#include "harness/judge/statistics/humps.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::statistics {
namespace {

/// Values [from, to), and their energy distance from the rest.
struct Stretch {
  std::size_t from = 0, to = 0;
  double distance = -HUGE_VAL;

  void take(const Stretch& other) {
    if (other.distance > distance) *this = other;
  }
};

/// The ones furthest from the rest: at one end, and anywhere.
struct Furthest {
  Stretch at_end, anywhere;
};

/// Energy distance of `m` values from the `k` others, from the sums of |a - b| within and across.
double energy_distance(double m, double k, double within, double across, double without) {
  return (m * k / (m + k)) * (2 * across / (m * k) - 2 * within / (m * (m - 1)) - 2 * without / (k * (k - 1)));
}

/// Looks for the furthest stretch of one order of values after another.
class Search {
 public:
  Furthest operator()(const std::vector<double>& x) {
    sum_rows(x);
    within_.assign(x.size(), 0);
    Furthest best;
    for (std::size_t last = 1; last < x.size(); ++last) {
      double to_last = 0;
      for (std::size_t from = last; from-- > 0;) {
        to_last += std::abs(x[from] - x[last]);
        within_[from] += to_last;
        look_at(from, last + 1, best);
      }
    }
    return best;
  }

 private:
  void sum_rows(const std::vector<double>& x) {
    rows_.assign(1, 0);
    for (const double a : x) {
      double row = 0;
      for (const double b : x) row += std::abs(a - b);
      rows_.push_back(rows_.back() + row);
    }
  }

  void look_at(std::size_t from, std::size_t to, Furthest& best) const {
    const std::size_t n = within_.size(), inside = to - from, after = n - to;
    const auto too_few = [](std::size_t count) { return count > 0 && count < kFewestInLevel; };
    if (inside < kFewestInLevel || inside == n || too_few(from) || too_few(after)) return;
    const double within = within_[from], across = rows_[to] - rows_[from] - 2 * within;
    const auto m = static_cast<double>(inside), k = static_cast<double>(n - inside);
    const Stretch one{from, to, energy_distance(m, k, within, across, rows_[n] / 2 - within - across)};
    best.anywhere.take(one);
    if (from == 0 || after == 0) best.at_end.take(one);
  }

  std::vector<double> within_;  // by the first index: sum of |a - b| within a stretch up to the last index
  std::vector<double> rows_;    // running sum of |a - b| over all b
};

/// A stretch and the share of permutations that have one as far from the rest, this series among them.
struct Rare {
  Stretch stretch;
  double p = 1;
};

/// The furthest stretch at one end, where that is rare; else the furthest anywhere. p = 1: neither is rare.
Rare rare_stretch(std::vector<double> x, Draws& draws) {
  constexpr auto kMost = static_cast<unsigned>(kChangeLimit * (kPermutations + 1));
  Search search;
  const Furthest found = search(x);
  if (!(found.anywhere.distance > 0)) return {};
  const auto as_far = [](const Stretch& other, const Stretch& one) {
    return other.distance >= one.distance * (1 - 1e-12);
  };
  unsigned steps = 1, any = 1;
  for (unsigned n = 0; n < kPermutations && std::min(steps, any) <= kMost; ++n) {
    for (std::size_t i = x.size(); i > 1; --i) std::swap(x[i - 1], x[draws.below(i)]);
    const Furthest other = search(x);
    steps += as_far(other.at_end, found.at_end);
    any += as_far(other.anywhere, found.anywhere);
  }
  const auto p = [](unsigned count) { return count <= kMost ? static_cast<double>(count) / (kPermutations + 1) : 1; };
  return steps <= kMost ? Rare{found.at_end, p(steps)} : Rare{found.anywhere, p(any)};
}

std::size_t count_turns(const std::vector<bool>& high) {
  std::size_t turns = 0;
  for (std::size_t i = 1; i < high.size(); ++i) turns += high[i] != high[i - 1];
  return turns;
}

/// The share of permutations in which the humps take turns as seldom, or seldomer.
double chance_of_order(std::vector<bool> high, Draws& draws) {
  const std::size_t turns = count_turns(high);
  unsigned as_seldom = 1;
  for (unsigned n = 0; n < kPermutations; ++n) {
    for (std::size_t i = high.size(); i > 1; --i) {
      const std::size_t other = draws.below(i);
      const bool kept = high[i - 1];
      high[i - 1] = high[other];
      high[other] = kept;
    }
    as_seldom += count_turns(high) <= turns;
  }
  return static_cast<double>(as_seldom) / (kPermutations + 1);
}

/// A series while it is divided.
struct Division {
  const std::vector<double>& values;
  Draws draws;
  std::vector<ChangePoint> found = {};

  std::vector<double> part(std::size_t from, std::size_t to) const {
    return {values.begin() + static_cast<std::ptrdiff_t>(from), values.begin() + static_cast<std::ptrdiff_t>(to)};
  }

  void divide(std::size_t from, std::size_t to) {
    if (to - from < 2 * kFewestInLevel) return;
    const Rare rare = rare_stretch(part(from, to), draws);
    if (rare.p > kChangeLimit) return alternate(from, to);
    const std::size_t first = from + rare.stretch.from, last = from + rare.stretch.to;
    divide(from, first);
    if (first > from) found.push_back({first, rare.p});
    divide(first, last);
    if (last < to) found.push_back({last, rare.p});
    divide(last, to);
  }

  /// Cuts where one hump takes turns with another; a shorter stretch than a level is none.
  void alternate(std::size_t from, std::size_t to) {
    if (to - from < kFewestRuns) return;
    const std::vector<double> x = part(from, to);
    const auto humps = two_humps(x);
    if (!humps) return;
    std::vector<bool> high;
    for (const double value : x) high.push_back(value > humps->below);
    std::vector<std::size_t> turns;
    for (std::size_t i = 0, length = 0; i < high.size(); i += length) {
      for (length = 1; i + length < high.size() && high[i + length] == high[i];) ++length;
      const bool same = !turns.empty() && high[turns.back()] == high[i];
      if (length >= kFewestInLevel && !same) turns.push_back(i);
    }
    if (turns.size() < 2) return;
    const double p = chance_of_order(std::move(high), draws);
    for (std::size_t i = 1; i < turns.size(); ++i) found.push_back({from + turns[i], p, true});
  }
};

/// The distance of the levels before and after the cut, as a logarithm. It has no bound where one of them is 0.
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

double squares(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

/// The distance of each value from the mean of its level. Rounding errors of a constant level count as 0.
std::vector<double> off_levels(std::vector<double> x, const std::vector<ChangePoint>& cuts) {
  constexpr double kRounding = 1e-9;
  for (std::size_t level = 0, from = 0; level <= cuts.size(); ++level) {
    const std::size_t to = level < cuts.size() ? cuts[level].at : x.size();
    const double mean = std::accumulate(x.begin() + static_cast<std::ptrdiff_t>(from),
                                        x.begin() + static_cast<std::ptrdiff_t>(to), 0.0) /
                        static_cast<double>(to - from);
    for (std::size_t i = from; i < to; ++i) {
      x[i] -= mean;
      if (std::abs(x[i]) <= kRounding * std::max(1.0, std::abs(mean))) x[i] = 0;
    }
    from = to;
  }
  return x;
}

/// The residual of the best AR(1) process for each value after the first: the sum of squares.
double innovations(const std::vector<double>& x) {
  const std::size_t n = x.size() - 1;
  const double before = std::accumulate(x.begin(), x.end() - 1, 0.0) / static_cast<double>(n),
               after = std::accumulate(x.begin() + 1, x.end(), 0.0) / static_cast<double>(n);
  double of_before = 0, of_after = 0, together = 0;
  for (std::size_t i = 0; i < n; ++i) {
    of_before += (x[i] - before) * (x[i] - before);
    of_after += (x[i + 1] - after) * (x[i + 1] - after);
    together += (x[i] - before) * (x[i + 1] - after);
  }
  return of_before > 0 ? std::max(0.0, of_after - together * together / of_before) : of_after;
}

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> values, double delta, std::uint64_t seed) {
  if (values.size() < kFewestRuns) return {};
  const std::size_t skipped = values.size() > kLongestSeries ? values.size() - kLongestSeries : 0;
  const std::span<const double> judged = values.subspan(skipped);
  const std::vector<double> logs = scaled(judged);
  Division division{logs, Draws(seed)};
  division.divide(0, logs.size());
  std::vector<ChangePoint> cuts = std::move(division.found);
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
  const std::vector<double> off = off_levels(scaled(values), cuts);
  double together = 0;
  for (std::size_t level = 0, from = 0; level <= cuts.size(); ++level) {
    const std::size_t to = level < cuts.size() ? cuts[level].at : off.size();
    for (std::size_t i = from + 1; i < to; ++i) together += off[i] * off[i - 1];
    from = to;
  }
  const double all = squares(off);
  return all > 0 ? together / all : 0;
}

bool wanders(std::span<const double> values, const std::vector<ChangePoint>& cuts) {
  const std::vector<double> x = scaled(values);
  const auto n = static_cast<double>(x.size());
  const double levels = squares(off_levels(x, cuts)) / n;
  if (levels == 0) return false;
  const double drift = innovations(x) / (n - 1);
  return n / 2 * std::log(drift / levels) - static_cast<double>(cuts.size()) * std::log(n) <= kSurelyLevels;
}

}  // namespace headrace::statistics
