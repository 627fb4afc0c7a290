#include "harness/judge/verdict/record.h"

#include <algorithm>

#include "harness/record/highest_rate.h"

namespace headrace::judging {
namespace {

/// A rate of 0 over less time than this shows that nothing ended yet, not that nothing comes.
constexpr double kShortestForZero_s = 0.2;

/// Each repetition's value of the metric.
Taken taken(const RecordedRepetition& r, const std::string& metric, bool rate, double shares) {
  Taken one{.value = {}, .seconds = r.elapsed_s, .counted = r.counted, .disturbed = r.disturbed};
  if (const auto at = r.seconds.find(metric); at != r.seconds.end()) one.seconds = at->second;
  const auto at = r.metrics.find(metric);
  if (at == r.metrics.end()) return one;
  const bool nothing_yet = rate && one.seconds > 0 && one.seconds < kShortestForZero_s;
  if (at->second != 0 || !(metric == kHighestRate || nothing_yet)) one.value = at->second / shares;
  return one;
}

/// Shares of the repetitions, and why of the first.
void look_at_repetitions(const RecordedPoint& point, const std::string& metric, double shares, Evidence& e) {
  double counted = 0, not_steady = 0;
  const auto looks = static_cast<unsigned>(point.looks.looks.size());
  const auto note = [](std::string& why, const std::string& text) {
    if (why.empty()) why = text;
  };
  for (const RecordedRepetition& r : point.repetitions) {
    if (!r.ok || r.look >= looks) continue;
    e.taken.push_back(taken(r, metric, e.rate, shares));
    if (r.disturbed) note(e.disturbed_why, r.disturbed_why);
    if (!r.counted) continue;
    ++counted;
    if (!r.steady) {
      ++not_steady;
      note(e.not_steady_why, r.steady_why);
    }
    if (!r.is_evidence) note(e.cache_why, r.state_why);
  }
  if (counted == 0) return;
  e.not_steady_share = not_steady / counted;
  e.cache_unproven_share = point.unproven_share();
}

}  // namespace

std::vector<double> RecordedPoint::values(std::string_view metric) const {
  std::vector<double> all;
  for (const RecordedRepetition& r : repetitions) {
    if (!r.counted || !r.ok) continue;
    if (const auto at = r.metrics.find(std::string(metric)); at != r.metrics.end()) all.push_back(at->second);
  }
  return all;
}

double RecordedPoint::unproven_share() const {
  double counted = 0, unproven = 0;
  for (const RecordedRepetition& r : repetitions) {
    if (!r.counted || !r.ok) continue;
    ++counted;
    unproven += !r.is_evidence;
  }
  return counted > 0 ? unproven / counted : 0;
}

Evidence gather(const RecordedPoint& point, const std::string& metric, std::string_view unit, double shares,
                unsigned choices) {
  Evidence e;
  e.deterministic = point.deterministic;
  e.rate = !e.deterministic && unit.ends_with("/s");
  look_at_repetitions(point, metric, shares, e);
  if (e.deterministic) {
    e.cache_unproven_share = e.not_steady_share = 0;
    return e;
  }
  const std::size_t counted = e.values().size();
  e.rank = statistics::rank_for(point.looks, counted);
  e.alpha = statistics::alpha_for(point.looks, counted) / choices;
  if (const auto at = point.single_run.find(std::string(unit)); at != point.single_run.end()) e.single_run = at->second;
  return e;
}

}  // namespace headrace::judging
