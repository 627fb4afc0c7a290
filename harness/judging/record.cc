#include "harness/judging/record.h"

#include <algorithm>

namespace headrace::judging {
namespace {

/// Shares of the repetitions, and why of the first.
void look_at_repetitions(const RecordedPoint& point, Evidence& e) {
  double taken = 0, counted = 0, disturbed = 0, not_steady = 0;
  const auto looks = static_cast<unsigned>(point.looks.looks.size());
  const auto note = [](std::string& why, const std::string& text) {
    if (why.empty()) why = text;
  };
  for (const RecordedRepetition& r : point.repetitions) {
    if (!r.ok || r.look >= looks) continue;
    ++taken;
    if (r.disturbed) {
      ++disturbed;
      note(e.disturbed_why, r.disturbed_why);
    }
    if (!r.counted) continue;
    ++counted;
    if (!r.steady) {
      ++not_steady;
      note(e.not_steady_why, r.steady_why);
    }
    if (!r.stands()) note(e.cache_why, r.state_why);
  }
  if (counted == 0) return;
  e.disturbed_share = disturbed / taken;
  e.not_steady_share = not_steady / counted;
  e.cache_unproven_share = point.unproven_share();
}

}  // namespace

std::vector<double> RecordedPoint::values(std::string_view metric) const {
  std::vector<double> all;
  for (const RecordedRepetition& r : repetitions) {
    if (!r.counted || !r.ok) continue;
    if (const auto at = r.metrics.find(std::string(metric)); at != r.metrics.end())
      all.push_back(at->second);
  }
  return all;
}

double RecordedPoint::unproven_share() const {
  double counted = 0, unproven = 0;
  for (const RecordedRepetition& r : repetitions) {
    if (!r.counted || !r.ok) continue;
    ++counted;
    unproven += !r.stands();
  }
  return counted > 0 ? unproven / counted : 0;
}

Evidence gather(const RecordedPoint& point, std::string_view unit, std::span<const double> values) {
  Evidence e;
  e.values = values;
  e.deterministic = point.deterministic;
  if (e.deterministic) return e;
  e.rank = statistics::rank_for(point.looks, values.size());
  look_at_repetitions(point, e);
  if (const auto at = point.single_run.find(std::string(unit)); at != point.single_run.end())
    e.single_run = at->second;
  return e;
}

}  // namespace headrace::judging
