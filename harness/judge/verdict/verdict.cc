// Outcomes with their reason codes.
#include "harness/judge/verdict/verdict.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "harness/job/need_kinds.h"
#include "harness/judge/statistics/summary.h"
#include "harness/judge/verdict/across_sessions.h"

namespace headrace {
namespace {

// The words of a judgement, apart from the judging.

std::string shown(double value, const Judgement& j) { return job::format_named(value, j.unit, j.id); }

std::string needed(const Judgement& j) {
  return fmt::format("{}{}", j.higher_is_better ? "" : "at most ", shown(j.need, j));
}

std::string repetitions(std::size_t n) { return fmt::format("{} repetition{}", n, n == 1 ? "" : "s"); }

std::string margin(const Judgement& j) {
  if (!j.headroom) return j.higher_is_better ? "any value would do" : "nothing at all was measured";
  const double headroom = *j.headroom, percent = (headroom - 1) * 100;
  if (headroom >= 10) return fmt::format("{:.0f} times the need", headroom);
  if (headroom <= 0.5) return fmt::format("{:.0f} % of the need", headroom * 100);
  return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 10 ? 1 : 0);
}

std::string because(const std::string& why) { return why.empty() ? "" : ": " + why; }

/// "in 5 repetitions of one session": another session may give something else.
std::string in_so_many(const Evidence& e, std::size_t n) {
  if (e.deterministic) return "";
  return e.single_run ? " in a single run" : " in " + repetitions(n) + " of one session";
}

std::size_t count(const Evidence& e, bool (*wanted)(const Taken&)) {
  return static_cast<std::size_t>(std::count_if(e.taken.begin(), e.taken.end(), wanted));
}

/// Rates are means over time: the loss by stalls.
std::string stalls(const Judgement& j) {
  if (!j.lost_to_stalls) return "";
  return fmt::format(" Stalls cost {:.0f} %: the typical repetition gave {}.", *j.lost_to_stalls * 100,
                     shown(*j.typical, j));
}

/// The effect of disturbed repetitions, those that count and those that were repeated.
std::string neighbours(const Evidence& e, const Judgement& j) {
  const std::size_t disturbed = count(e, [](const Taken& t) { return t.disturbed; });
  if (disturbed == 0) return "";
  const std::size_t replaced = count(e, [](const Taken& t) { return !t.counted; });
  std::string text =
      fmt::format(" {} of {} repetitions were disturbed{}", disturbed, e.taken.size(), because(e.disturbed_why));
  if (replaced > 0) {
    Evidence all = e;
    for (Taken& t : all.taken) t.counted = true, t.disturbed = false;
    Judgement with = j;
    judge(all, with);
    text +=
        fmt::format("; {} {} repeated, and all of them together give {}: {}", replaced, replaced == 1 ? "was" : "were",
                    with.measured ? shown(*with.measured, j) : "nothing", to_string(with.outcome));
  } else if (j.outcome == Outcome::pass) {
    text += "; the need is met even so";
  } else if (j.outcome == Outcome::fail) {
    text += "; undisturbed repetitions miss the need as well";
  }
  return text + ".";
}

std::string again(const Judgement& j, std::string_view options) {
  return fmt::format("run the same command with --only '{}'{}{}", j.point, options.empty() ? "" : " ", options);
}

/// The next step for a missed need.
std::string mend(const Judgement& j) {
  if (j.id.starts_with("ingest.") && (j.metric.starts_with("small_file_read.") || j.metric.starts_with("metadata.")))
    return "headrace pack DATA --to SHARDS --rehearse   # measures the gain of shards";
  const job::NeedKind* kind = job::find_need_kind(j.id);
  if (kind != nullptr && !kind->mend.empty()) return std::string(kind->mend);
  return "look at this point's latency and time series in report.html, then change one thing and "
         "measure again";
}

std::string finding(const Evidence& e, const Judgement& j) {
  const std::size_t n = j.repetitions;
  const std::string measured = j.measured ? shown(*j.measured, j) : "nothing";
  const std::string in = in_so_many(e, n);
  switch (j.reason) {
    case Reason::none: {
      const std::string worst = shown(j.higher_is_better ? *j.low : *j.high, j);
      const std::string best = shown(j.higher_is_better ? *j.high : *j.low, j);
      if (e.deterministic) {
        return fmt::format("Available: {}; needed: {}: {}.", measured, needed(j), margin(j));
      }
      if (j.outcome == Outcome::pass) {
        return fmt::format("Measured {}{}, at worst {}; {} is needed: {}{}.", measured, in, worst, needed(j), margin(j),
                           j.thin ? ", small margin" : "");
      }
      return fmt::format("Measured {}{}; even the top of the range ({}) is below the required {}: {}.", measured, in,
                         best, needed(j), margin(j));
    }
    case Reason::correlated:
      return fmt::format(
          "Measured {}{}, but consecutive repetitions are correlated, which widens the range: [{}, {}] spans the need "
          "of {}.",
          measured, in, j.low ? shown(*j.low, j) : "?", j.high ? shown(*j.high, j) : "?", needed(j));
    case Reason::few_reps:
      return fmt::format("Only {} could be taken, too few for any bound; measured {}, needed {}.", repetitions(n),
                         measured, needed(j));
    case Reason::few_ops:
      return fmt::format("Each repetition had too few operations for this percentile; measured {}, needed {}.",
                         measured, needed(j));
    case Reason::not_steady:
      if (const std::size_t without = count(e, [](const Taken& t) { return !t.value; }))
        return fmt::format("It did not hold in {} of {}{}; measured {}, needed {}.", without,
                           repetitions(e.taken.size()), because(e.not_steady_why), measured, needed(j));
      return fmt::format("The rate was not steady in {:.0f} % of the repetitions{}; measured {}, needed {}.",
                         e.not_steady_share * 100, because(e.not_steady_why), measured, needed(j));
    case Reason::cache_unproven:
      return fmt::format(
          "The declared cache state was not proven in {:.0f} % of the repetitions{}; measured {}, "
          "needed {}.",
          e.cache_unproven_share * 100, because(e.cache_why), measured, needed(j));
    case Reason::disturbed:
      return fmt::format("Measured {}{}, needed {}; undecided because other programs were running.", measured, in,
                         needed(j));
    case Reason::straddles:
      return fmt::format("Measured {}{}, but the bounds [{}, {}] span the need of {}{}.", measured, in,
                         j.low ? shown(*j.low, j) : "?", j.high ? shown(*j.high, j) : "?", needed(j),
                         e.next_look != 0 ? fmt::format("; the next look is at {}", e.next_look) : "");
    case Reason::two_humped:
      return fmt::format(
          "The repetitions fall into two groups, one that meets the need of {} and one that does "
          "not, "
          "and no cause was found.",
          needed(j));
    case Reason::fingerprint_differs:
      return "The two machines or configurations are not the same.";
    case Reason::other_settings:
      return fmt::format("Measured {}, needed {}.", measured, needed(j));
    case Reason::single_session:
      return fmt::format(
          "Measured {} in one long run; bounded by its batches and 10 % for what differs between "
          "runs, [{}, {}], it does not decide the need of {}.",
          measured, j.low ? shown(*j.low, j) : "?", j.high ? shown(*j.high, j) : "?", needed(j));
    case Reason::extrapolated:
      break;  // of a sizing, which has words of its own
  }
  return "";
}

/// One sentence: the measured value, the need, and for INCONCLUSIVE why there is no conclusion. `j` is judged.
std::string explain(const Evidence& e, const Judgement& j) { return finding(e, j) + stalls(j) + neighbours(e, j); }

/// The cheapest next step, a command where there is one; "" when there is nothing to do.
std::string advise(const Judgement& j) {
  switch (j.reason) {
    case Reason::none:
      return j.outcome == Outcome::fail ? mend(j) : "";
    case Reason::few_reps:
      return again(j, "and a larger --budget");
    case Reason::few_ops:
      return "give the workload more files or a longer duration, then " + again(j, "");
    case Reason::not_steady:
      return "look at the time series in report.html; then " + again(j, "and a longer duration");
    case Reason::cache_unproven:
      return "remove the named cause (headrace doctor DIR shows the storage below the data; root may drop the caches), "
             "or declare another cache state";
    case Reason::disturbed:
      return "stop what else is running on this machine or device, then " + again(j, "");
    case Reason::correlated:
      return "let more time pass between repetitions (rest: in the configuration); then " +
             again(j, "and a larger --budget");
    case Reason::straddles:
    case Reason::two_humped: {
      const std::size_t n = std::max<std::size_t>(j.repetitions, 5);
      if (j.reason == Reason::two_humped) {
        return "compare the two groups of repetitions in report.html; then " + again(j, "");
      }
      return again(j, fmt::format("--looks {},{},{}", n, 2 * n, 3 * n)) + ": more repetitions narrow the bounds";
    }
    case Reason::single_session:
      return again(j, "--looks 5,10,15 and a larger --budget");
    case Reason::fingerprint_differs:
      return "measure both in turns, on the same machine";
    case Reason::extrapolated:
    case Reason::other_settings:
      break;  // the part that found it names the next measurement
  }
  return "";
}

constexpr double kThin = 0.10;          // headroom
constexpr double kTolerated = 1.0 / 3;  // share of repetitions that may be not steady
constexpr double kDelta = 0.05;         // rule 19: a single run decides only beyond twice this
constexpr double kReported = 0.01;      // the cost of stalls is reported from here on
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

/// The outcome of the bounds alone.
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

/// Two humps matter when the need is between them: then a repetition passes or misses by an unknown cause.
bool humps_on_both_sides(const Evidence& e, const Set& set, const Judgement& j) {
  double below = 0, above = 0;
  if (e.deterministic || !statistics::two_humped(set.values, &below, &above)) return false;
  return j.meets(below) != j.meets(above);
}

/// The set with all left-out repetitions. They are disturbed ones that were repeated, and, as nothing, those below the
/// reported rate.
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

/// The share by which the mean over time is below the typical repetition, when that is more than chance.
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

Summary when_lost(Summary summary) {
  const int code = exit_code_when_lost(summary.exit_code);
  if (code != summary.exit_code) summary.word = Outcome::error;
  summary.exit_code = code;
  return summary;
}

}  // namespace headrace
