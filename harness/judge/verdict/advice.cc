// The words of a judgement: what was found, in one sentence, and the cheapest thing to do next.
#include "harness/judge/verdict/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "harness/job/need_kinds.h"

namespace headrace {
namespace {

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

/// Rates are means over time: what stalls took of them.
std::string stalls(const Judgement& j) {
  if (!j.lost_to_stalls) return "";
  return fmt::format(" Stalls cost {:.0f} %: the typical repetition gave {}.", *j.lost_to_stalls * 100,
                     shown(*j.typical, j));
}

/// What disturbed repetitions would have changed, those that count and those that were taken again.
std::string neighbours(const Evidence& e, const Judgement& j) {
  const std::size_t disturbed = count(e, [](const Taken& t) { return t.disturbed; });
  if (disturbed == 0) return "";
  const std::size_t replaced = count(e, [](const Taken& t) { return !t.counted; });
  std::string text = fmt::format(" Something else disturbed {} of the {} repetitions{}", disturbed, e.taken.size(),
                                 because(e.disturbed_why));
  if (replaced > 0) {
    Evidence all = e;
    for (Taken& t : all.taken) t.counted = true, t.disturbed = false;
    Judgement with = j;
    judge(all, with);
    text += fmt::format("; {} {} taken again, and with {} it would be {}: {}", replaced, replaced == 1 ? "was" : "were",
                        replaced == 1 ? "it" : "them", with.measured ? shown(*with.measured, j) : "nothing",
                        to_string(with.outcome));
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

/// What to do about a missed need.
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
      return fmt::format("Measured {}{}, needed {}, but what else ran decides it.", measured, in, needed(j));
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

}  // namespace

std::string explain(const Evidence& e, const Judgement& j) { return finding(e, j) + stalls(j) + neighbours(e, j); }

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
      break;  // whoever found that says what would measure it
  }
  return "";
}

}  // namespace headrace
