// Rule 7 with the reason codes of rule 15, and the exit code.
#include "harness/verdict.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/statistics/summary.h"
#include "harness/verdict_words.h"

namespace headrace {
namespace {

constexpr double kThin = 0.10;          // headroom
constexpr double kTolerated = 1.0 / 3;  // share of repetitions that may be disturbed or not steady
constexpr double kDelta = 0.05;         // rule 2: a single run decides only beyond twice this

bool meets(double value, const Judgement& j) {
  return j.higher_is_better ? value >= j.need : value <= j.need;
}

/// Nothing when any value would do.
std::optional<double> headroom_of(double value, const Judgement& j) {
  const double over = j.higher_is_better ? value : j.need;
  const double under = j.higher_is_better ? j.need : value;
  if (under <= 0) return std::nullopt;
  return over / under;
}

/// Rule 2: one long repetition, bounded by its batches.
bool stands_alone(const Evidence& e) {
  return e.values.size() == 1 && e.single_run && e.single_run->usable && e.single_run->mean > 0;
}

statistics::Bounds bounds_of(const Evidence& e) {
  const double value = e.values.front();
  if (e.deterministic) return {value, value, 1};
  if (stands_alone(e)) {
    // Batch bounds are relative; 2 delta outwards, so that only a clear case is decided.
    const double low = e.single_run->low / e.single_run->mean,
                 high = e.single_run->high / e.single_run->mean;
    return {value * low * (1 - 2 * kDelta), value * high * (1 + 2 * kDelta), 1};
  }
  return statistics::order_bounds(e.values, e.rank);
}

/// What the bounds alone say.
Outcome compare(const statistics::Bounds& b, const Judgement& j) {
  const double bad = j.higher_is_better ? b.low : b.high;
  const double good = j.higher_is_better ? b.high : b.low;
  if (std::isfinite(bad) && meets(bad, j)) return Outcome::pass;
  if (std::isfinite(good) && !meets(good, j)) return Outcome::fail;
  return Outcome::inconclusive;
}

/// Two humps matter when the need lies between them: then a repetition passes or misses by a cause
/// nobody has named.
bool humps_on_both_sides(const Evidence& e, const Judgement& j) {
  double below = 0, above = 0;
  if (e.deterministic || !statistics::two_humped(e.values, &below, &above)) return false;
  return meets(below, j) != meets(above, j);
}

Reason reason_of(const Evidence& e, const Judgement& j, Outcome by_bounds, unsigned rank) {
  if (e.values.empty()) return Reason::few_reps;
  if (e.cache_unproven_share > 0) return Reason::cache_unproven;
  if (e.too_few_operations) return Reason::few_ops;
  if (e.disturbed_share > kTolerated) return Reason::disturbed;
  if (e.not_steady_share > kTolerated) return Reason::not_steady;
  if (rank == 0) return Reason::few_reps;
  if (humps_on_both_sides(e, j)) return Reason::two_humped;
  if (by_bounds != Outcome::inconclusive) return Reason::none;
  return stands_alone(e) ? Reason::single_session : Reason::straddles;
}

}  // namespace

void judge(const Evidence& e, Judgement& j) {
  j.repetitions = static_cast<unsigned>(e.values.size());
  j.outcome = Outcome::inconclusive;
  j.thin = false;
  j.measured = j.low = j.high = j.headroom = std::nullopt;
  Outcome by_bounds = Outcome::inconclusive;
  unsigned rank = 0;
  if (!e.values.empty()) {
    const statistics::Bounds bounds = bounds_of(e);
    rank = bounds.rank;
    j.measured = statistics::median(e.values);
    if (std::isfinite(bounds.low)) j.low = bounds.low;
    if (std::isfinite(bounds.high)) j.high = bounds.high;
    j.headroom = headroom_of(*j.measured, j);
    by_bounds = compare(bounds, j);
  }
  j.reason = reason_of(e, j, by_bounds, rank);
  if (j.reason == Reason::none) j.outcome = by_bounds;
  j.thin = j.outcome == Outcome::pass && j.headroom && *j.headroom < 1 + kThin;
  j.explanation = explain(e, j);
  j.next_step = advise(e, j);
}

bool undecided(const Evidence& e, const Judgement& j) {
  if (j.outcome != Outcome::inconclusive || e.next_look == 0) return false;
  return j.reason != Reason::cache_unproven && j.reason != Reason::few_ops;
}

void sort_worst_first(std::vector<Judgement>& judgements) {
  const auto order = [](const Judgement& j) {
    switch (j.outcome) {
      case Outcome::fail:
        return 0;
      case Outcome::error:
        return 1;
      case Outcome::inconclusive:
        return 2;
      case Outcome::skipped:
        return 3;
      case Outcome::pass:
        return 4;
    }
    return 5;
  };
  std::stable_sort(judgements.begin(), judgements.end(),
                   [&order](const Judgement& a, const Judgement& b) {
                     if (order(a) != order(b)) return order(a) < order(b);
                     constexpr double kLast = std::numeric_limits<double>::infinity();
                     return a.headroom.value_or(kLast) < b.headroom.value_or(kLast);
                   });
}

Summary summarize(std::span<const Outcome> outcomes, int signal, const PointCounts& points) {
  Summary s;
  s.needs = static_cast<unsigned>(outcomes.size());
  for (const Outcome outcome : outcomes) {
    switch (outcome) {
      case Outcome::pass:
        ++s.pass;
        break;
      case Outcome::fail:
        ++s.fail;
        break;
      case Outcome::inconclusive:
        ++s.inconclusive;
        break;
      case Outcome::skipped:
        ++s.skipped;
        break;
      case Outcome::error:
        ++s.error;
        break;
    }
  }
  s.error += points.failed;
  const bool all_skipped = s.needs == 0 ? points.skipped == points.all : s.pass == 0;
  if (s.needs == 0) s.skipped = points.skipped;
  const auto is = [&s](const char* word, int code) {
    s.word = word;
    s.exit_code = code;
  };
  if (signal != 0) {
    is("INTERRUPTED", signal == SIGTERM ? 143 : 128 + signal);
  } else if (s.fail != 0) {
    is("FAIL", 10);
  } else if (s.error != 0) {
    is("ERROR", 1);
  } else if (s.inconclusive != 0) {
    is("INCONCLUSIVE", 11);
  } else if (s.skipped != 0 && all_skipped) {
    is("SKIPPED", 77);
  } else if (s.skipped != 0) {
    is("INCOMPLETE", 12);
  } else if (s.needs == 0) {
    is("MEASURED", 0);
  } else {
    is("PASS", 0);
  }
  return s;
}

Summary summarize(std::span<const Judgement> judgements, int signal, const PointCounts& points) {
  std::vector<Outcome> outcomes;
  for (const Judgement& j : judgements) outcomes.push_back(j.outcome);
  return summarize(outcomes, signal, points);
}

}  // namespace headrace
