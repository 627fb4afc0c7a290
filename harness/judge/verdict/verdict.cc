// Outcomes with their reason codes.
#include "harness/judge/verdict/verdict.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/judge/statistics/summary.h"
#include "harness/judge/verdict/advice.h"
#include "harness/judge/verdict/share_bounds.h"

namespace headrace {
namespace {

constexpr double kThin = 0.10;          // headroom
constexpr double kTolerated = 1.0 / 3;  // share of repetitions that may be not steady
constexpr double kDelta = 0.05;         // rule 19: a single run decides only beyond twice this
constexpr double kReported = 0.01;      // what stalls cost is reported from here on
constexpr std::size_t kFewestForBounds = 5;

using statistics::Bounded;

/// Values and the seconds of each.
struct Set {
  std::vector<double> values, seconds;
  void add(double value, double s) {
    values.push_back(value);
    seconds.push_back(s > 0 ? s : 1);
  }
};

template <typename Wanted>
Set those(const Evidence& e, Wanted wanted) {
  Set set;
  for (const Taken& t : e.taken)
    if (t.value && wanted(t)) set.add(*t.value, t.seconds);
  return set;
}

/// Nothing when any value would do.
std::optional<double> headroom_of(double value, const Judgement& j) {
  const double over = j.higher_is_better ? value : j.need;
  const double under = j.higher_is_better ? j.need : value;
  if (under <= 0) return std::nullopt;
  return over / under;
}

/// Rule 19: one long repetition, bounded by its batches.
bool stands_alone(const Evidence& e, const Set& set) {
  return set.values.size() == 1 && e.single_run && e.single_run->usable && e.single_run->mean > 0;
}

/// The estimate; no bounds when there are too few values for any.
Bounded bounds_of(const Evidence& e, const Set& set, bool* bounded) {
  const double value = set.values.front();
  *bounded = true;
  if (e.deterministic) return {value, value, value};
  if (stands_alone(e, set)) {
    // Batch bounds are relative; 2 delta outwards, so that only a clear case is decided.
    const double low = e.single_run->low / e.single_run->mean, high = e.single_run->high / e.single_run->mean;
    return {value, value * low * (1 - 2 * kDelta), value * high * (1 + 2 * kDelta)};
  }
  *bounded = e.rank > 0 && set.values.size() >= kFewestForBounds;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!*bounded) {
    const double middle = e.rate && set.values.size() > 1 ? statistics::mean_rate(set.values, set.seconds, 0.5).value
                                                          : statistics::median(set.values);
    return {middle, -kInfinity, kInfinity};
  }
  return e.rate ? statistics::mean_rate(set.values, set.seconds, e.alpha)
                : statistics::median_bounds(set.values, e.rank, e.alpha);
}

/// What the bounds alone say.
Outcome compare(const Bounded& b, const Judgement& j) {
  const double bad = j.higher_is_better ? b.low : b.high;
  const double good = j.higher_is_better ? b.high : b.low;
  if (std::isfinite(bad) && j.meets(bad)) return Outcome::pass;
  if (std::isfinite(good) && !j.meets(good)) return Outcome::fail;
  return Outcome::inconclusive;
}

Outcome compare(const Evidence& e, const Set& set, const Judgement& j) {
  if (set.values.empty()) return Outcome::inconclusive;
  bool bounded = false;
  return compare(bounds_of(e, set, &bounded), j);
}

/// Two humps matter when the need lies between them: then a repetition passes or misses by a cause
/// nobody has named.
bool humps_on_both_sides(const Evidence& e, const Set& set, const Judgement& j) {
  double below = 0, above = 0;
  if (e.deterministic || !statistics::two_humped(set.values, &below, &above)) return false;
  return j.meets(below) != j.meets(above);
}

/// What was left out of what counts, put back: repetitions that were taken again as something
/// disturbed them, and, as nothing, those that did not reach what a rate reports.
Set with_all(const Evidence& e, const Judgement& j) {
  Set all;
  for (const Taken& t : e.taken) {
    if (t.value) {
      all.add(*t.value, t.seconds);
    } else if (j.higher_is_better) {
      all.add(0, t.seconds);
    }
  }
  return all;
}

/// A PASS must hold with every repetition that went through, a FAIL without the disturbed ones: a
/// neighbour mostly slows.
bool holds(const Evidence& e, const Judgement& j, Outcome by_bounds) {
  if (by_bounds == Outcome::pass) {
    const Set all = with_all(e, j);
    return std::all_of(all.values.begin(), all.values.end(), [&j](double v) { return j.meets(v); }) ||
           compare(e, all, j) == Outcome::pass;
  }
  if (by_bounds != Outcome::fail) return true;
  const auto counts = [](const Taken& t) { return t.counted && t.disturbed; };
  if (std::none_of(e.taken.begin(), e.taken.end(), counts)) return true;
  return compare(e, those(e, [](const Taken& t) { return !t.disturbed; }), j) == Outcome::fail;
}

bool unreached(const Evidence& e) {
  return std::any_of(e.taken.begin(), e.taken.end(), [](const Taken& t) { return !t.value; });
}

Reason reason_of(const Evidence& e, const Judgement& j, const Set& set, Outcome by_bounds, bool bounded) {
  if (set.values.empty()) return e.taken.empty() ? Reason::few_reps : Reason::not_steady;
  if (e.cache_unproven_share > 0) return Reason::cache_unproven;
  if (e.too_few_operations) return Reason::few_ops;
  if (e.not_steady_share > kTolerated) return Reason::not_steady;
  if (!bounded) return Reason::few_reps;
  if (humps_on_both_sides(e, set, j)) return Reason::two_humped;
  if (!holds(e, j, by_bounds)) return unreached(e) ? Reason::not_steady : Reason::disturbed;
  if (by_bounds != Outcome::inconclusive) return Reason::none;
  if (stands_alone(e, set)) return Reason::single_session;
  return statistics::alike(set.values).certain ? Reason::correlated : Reason::straddles;
}

/// By how much the mean over time lies below what the typical repetition gives, when that is more
/// than chance.
std::optional<double> lost(const Evidence& e, const Set& set, const Judgement& j) {
  if (!j.typical || *j.typical <= 0 || set.values.size() < kFewestForBounds) return std::nullopt;
  const double share = 1 - *j.measured / *j.typical;
  const bool beyond = *j.measured < statistics::order_bounds(set.values, e.rank).low;
  return beyond && share >= kReported ? std::optional(share) : std::nullopt;
}

}  // namespace

std::vector<double> Evidence::values() const {
  return those(*this, [](const Taken& t) { return t.counted; }).values;
}

statistics::Bounded estimate(const Evidence& e) {
  bool bounded = false;
  return bounds_of(e, those(e, [](const Taken& t) { return t.counted; }), &bounded);
}

void judge(const Evidence& e, Judgement& j) {
  const Set set = those(e, [](const Taken& t) { return t.counted; });
  j.repetitions = static_cast<unsigned>(set.values.size());
  j.disturbed =
      static_cast<unsigned>(std::count_if(e.taken.begin(), e.taken.end(), [](const Taken& t) { return t.disturbed; }));
  j.outcome = Outcome::inconclusive;
  j.thin = false;
  j.measured = j.low = j.high = j.headroom = j.typical = j.lost_to_stalls = std::nullopt;
  Outcome by_bounds = Outcome::inconclusive;
  bool bounded = false;
  if (!set.values.empty()) {
    const Bounded bounds = bounds_of(e, set, &bounded);
    j.measured = bounds.value;
    if (std::isfinite(bounds.low)) j.low = possible(j, bounds.low);
    if (std::isfinite(bounds.high)) j.high = possible(j, bounds.high);
    if (e.rate) j.typical = statistics::median(set.values);
    j.lost_to_stalls = lost(e, set, j);
    j.headroom = headroom_of(*j.measured, j);
    by_bounds = compare(bounds, j);
  }
  j.reason = reason_of(e, j, set, by_bounds, bounded);
  if (j.reason == Reason::none) j.outcome = by_bounds;
  j.thin = j.outcome == Outcome::pass && j.headroom && *j.headroom < 1 + kThin;
  j.explanation = explain(e, j);
  j.next_step = advise(j);
}

bool undecided(const Evidence& e, const Judgement& j) {
  if (j.outcome != Outcome::inconclusive || e.next_look == 0) return false;
  return j.reason != Reason::cache_unproven && j.reason != Reason::few_ops;
}

void sort_worst_first(std::vector<Judgement>& judgements) {
  std::stable_sort(judgements.begin(), judgements.end(), [](const Judgement& a, const Judgement& b) {
    if (a.outcome != b.outcome) return a.outcome < b.outcome;
    constexpr double kLast = std::numeric_limits<double>::infinity();
    return a.headroom.value_or(kLast) < b.headroom.value_or(kLast);
  });
}

Summary summarize(std::span<const Outcome> outcomes, int signal, const PointCounts& points) {
  Summary s;
  s.needs = static_cast<unsigned>(outcomes.size());
  const auto count = [&](Outcome outcome) {
    return static_cast<unsigned>(std::count(outcomes.begin(), outcomes.end(), outcome));
  };
  s.pass = count(Outcome::pass);
  s.fail = count(Outcome::fail);
  s.inconclusive = count(Outcome::inconclusive);
  s.skipped = count(Outcome::skipped);
  s.error = count(Outcome::error);
  s.error += points.failed;
  const bool all_skipped = s.needs == 0 ? points.skipped == points.all : s.pass == 0;
  if (s.needs == 0) s.skipped = points.skipped;
  const Found found{.fail = s.fail != 0,
                    .error = s.error != 0,
                    .inconclusive = s.inconclusive != 0,
                    .incomplete = s.skipped != 0 && !all_skipped};
  s.word = signal != 0 ? Outcome::interrupted
                       : worst(found, s.skipped != 0 ? Outcome::skipped
                                      : s.needs == 0 ? Outcome::measured
                                                     : Outcome::pass);
  s.exit_code = exit_code(s.word, signal);
  return s;
}

Summary summarize(std::span<const Judgement> judgements, int signal, const PointCounts& points) {
  std::vector<Outcome> outcomes;
  for (const Judgement& j : judgements) outcomes.push_back(j.outcome);
  return summarize(outcomes, signal, points);
}

}  // namespace headrace
