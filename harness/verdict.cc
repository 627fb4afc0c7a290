// Rule 7 with the reason codes of rule 15, the sentences that go with them, and the exit code.
#include "harness/verdict.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "harness/statistics/summary.h"
#include "harness/units.h"

namespace headrace {
namespace {

constexpr double kThin = 0.10;          // headroom
constexpr double kTolerated = 1.0 / 3;  // share of repetitions that may be disturbed or not steady
constexpr double kDelta = 0.05;         // rule 2: a single run decides only beyond twice this

std::string shown(double value, const Judgement& j) { return format_in_unit(value, j.unit); }

std::string needed(const Judgement& j) {
  return fmt::format("{}{}", j.higher_is_better ? "" : "at most ", shown(j.need, j));
}

std::string repetitions(std::size_t n) {
  return fmt::format("{} repetition{}", n, n == 1 ? "" : "s");
}

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

std::string margin(const Judgement& j) {
  if (!j.headroom) return "any value would do";
  const double headroom = *j.headroom, percent = (headroom - 1) * 100;
  if (headroom >= 10) return fmt::format("{:.0f} times the need", headroom);
  if (headroom <= 0.5) return fmt::format("{:.0f} % of the need", headroom * 100);
  return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 10 ? 1 : 0);
}

statistics::Bounds bounds_of(const Evidence& e) {
  const double value = e.values.front();
  if (e.deterministic) return {value, value, 1};
  if (e.values.size() == 1 && e.single_run && e.single_run->usable && e.single_run->mean > 0) {
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
  return by_bounds == Outcome::inconclusive ? Reason::straddles : Reason::none;
}

std::string because(const std::string& why) { return why.empty() ? "" : ": " + why; }

std::string explain(const Evidence& e, const Judgement& j) {
  const std::size_t n = e.values.size();
  const std::string measured = j.measured ? shown(*j.measured, j) : "nothing";
  const std::string in = e.deterministic ? ""
                         : e.single_run  ? " in a single run"
                                         : " in " + repetitions(n);
  switch (j.reason) {
    case Reason::none: {
      const std::string worst = shown(j.higher_is_better ? *j.low : *j.high, j);
      const std::string best = shown(j.higher_is_better ? *j.high : *j.low, j);
      if (e.deterministic) {
        return fmt::format("Available: {}; needed: {}: {}.", measured, needed(j), margin(j));
      }
      if (j.outcome == Outcome::pass) {
        return fmt::format("Measured {}{}, at worst {}; {} is needed: {}{}.", measured, in, worst,
                           needed(j), margin(j), j.thin ? ", little room for a bad day" : "");
      }
      return fmt::format("Measured {}{}; even the good bound, {}, misses the need of {}: {}.",
                         measured, in, best, needed(j), margin(j));
    }
    case Reason::few_reps:
      return fmt::format(
          "Only {} could be taken, too few to bound the median; measured {}, needed {}.",
          repetitions(n), measured, needed(j));
    case Reason::few_ops:
      return fmt::format(
          "Each repetition had too few operations for this percentile; measured {}, needed {}.",
          measured, needed(j));
    case Reason::not_steady:
      return fmt::format(
          "The rate was not steady in {:.0f} % of the repetitions{}; measured {}, needed {}.",
          e.not_steady_share * 100, because(e.not_steady_why), measured, needed(j));
    case Reason::cache_unproven:
      return fmt::format(
          "The declared cache state was not proven in {:.0f} % of the repetitions{}; measured {}, "
          "needed {}.",
          e.cache_unproven_share * 100, because(e.cache_why), measured, needed(j));
    case Reason::disturbed:
      return fmt::format(
          "Something else disturbed {:.0f} % of the repetitions{}; measured {}, needed {}.",
          e.disturbed_share * 100, because(e.disturbed_why), measured, needed(j));
    case Reason::straddles:
      return fmt::format(
          "Measured {}{}, but the bounds [{}, {}] span the need of {}{}.", measured, in,
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
    case Reason::single_session:
      return "One session only: what differs between sessions is not known.";
  }
  return "";
}

std::string again(const Judgement& j, std::string_view options) {
  return fmt::format("run the same command with --only '{}'{}{}", j.point,
                     options.empty() ? "" : " ", options);
}

/// What to do about a missed need, by the family that it belongs to.
std::string mend(const Judgement& j) {
  const auto is = [&j](std::string_view prefix) { return j.id.starts_with(prefix); };
  if (is("host.cpu_cores"))
    return "decode less per sample, move decoding to the GPU, or spread the job over more nodes";
  if (is("host.prefetch_memory"))
    return "fewer loader workers or a smaller prefetch_factor, or more memory per node";
  if (is("ingest.open_rate") || is("ingest.metadata_rate") || is("ingest.sample_rate")) {
    return "pack many samples into one file (dataset.layout: shards) and measure shard_stream, or "
           "read with more in "
           "flight (engine: io_uring)";
  }
  if (is("ingest.")) {
    return "see what held it back: headrace doctor (read-ahead, scheduler, mount), then try more "
           "workers or "
           "engine: io_uring; a page cache that holds the data set helps from the second epoch on";
  }
  if (is("checkpoint."))
    return "save asynchronously, less often, or from more writers; then measure again";
  return "look at this point's latency and time series in report.html, then change one thing and "
         "measure again";
}

std::string advise(const Evidence& e, const Judgement& j) {
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
      return "headrace doctor tells how cold can be proven here (root may drop the caches; some "
             "file systems do not "
             "count); or declare another cache state";
    case Reason::disturbed:
      return "stop what else is running on this machine or device, then " + again(j, "");
    case Reason::straddles:
    case Reason::two_humped: {
      const std::size_t n = std::max<std::size_t>(e.values.size(), 5);
      if (j.reason == Reason::two_humped) {
        return "compare the two groups of repetitions in report.html; then " + again(j, "");
      }
      return again(j, fmt::format("--looks {},{},{}", n, 2 * n, 3 * n)) +
             ": more repetitions narrow the bounds";
    }
    case Reason::fingerprint_differs:
    case Reason::single_session:
      return "measure both in turns, in one session";
  }
  return "";
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return "PASS";
    case Outcome::fail:
      return "FAIL";
    case Outcome::inconclusive:
      return "INCONCLUSIVE";
    case Outcome::skipped:
      return "SKIPPED";
    case Outcome::error:
      return "ERROR";
  }
  return "";
}

std::string_view symbol(Outcome outcome, bool ascii) {
  switch (outcome) {
    case Outcome::pass:
      return ascii ? "+" : "✔";
    case Outcome::fail:
      return ascii ? "x" : "✘";
    case Outcome::inconclusive:
      return "?";
    case Outcome::skipped:
      return ascii ? "-" : "–";
    case Outcome::error:
      return "!";
  }
  return "";
}

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::none:
      return "";
    case Reason::few_reps:
      return "few-reps";
    case Reason::few_ops:
      return "few-ops";
    case Reason::not_steady:
      return "not-steady";
    case Reason::cache_unproven:
      return "cache-unproven";
    case Reason::disturbed:
      return "disturbed";
    case Reason::straddles:
      return "straddles";
    case Reason::fingerprint_differs:
      return "fingerprint-differs";
    case Reason::two_humped:
      return "two-humped";
    case Reason::single_session:
      return "single-session";
  }
  return "";
}

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

Summary summarize(std::span<const Judgement> judgements, int signal, bool tool_error) {
  Summary s;
  for (const Judgement& j : judgements) {
    switch (j.outcome) {
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
  const auto is = [&s](const char* word, int code) {
    s.word = word;
    s.exit_code = code;
  };
  if (signal != 0) {
    is("INTERRUPTED", signal == SIGTERM ? 143 : 128 + signal);
  } else if (s.fail != 0) {
    is("FAIL", 10);
  } else if (s.error != 0 || tool_error) {
    is("ERROR", 1);
  } else if (s.inconclusive != 0) {
    is("INCONCLUSIVE", 11);
  } else if (s.skipped != 0 && s.pass == 0) {
    is("SKIPPED", 77);
  } else if (s.skipped != 0) {
    is("INCOMPLETE", 12);
  } else if (s.pass == 0) {
    is("MEASURED", 0);
  } else {
    is("PASS", 0);
  }
  return s;
}

}  // namespace headrace
