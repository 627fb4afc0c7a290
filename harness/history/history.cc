#include "harness/history/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/comparison/gates.h"
#include "harness/comparison/row_words.h"
#include "harness/statistics/robust.h"
#include "harness/statistics/summary.h"
#include "harness/units.h"

namespace headrace::history {
namespace {

using results::StoredMetric;
using results::StoredPoint;
using results::StoredRun;

constexpr int kFail = 10, kInconclusive = 11, kIncomplete = 12;

Direction direction_of(double ratio, Better better) {
  if (better == Better::neither) return Direction::differs;
  return (ratio > 1) == (better == Better::higher) ? Direction::better : Direction::worse;
}

/// What is new in a run, most telling first.
std::vector<std::string> events_of(const StoredRun& before, const StoredRun& run) {
  const StoredRun* both[] = {&before, &run};
  std::vector<std::string> events;
  for (const auto& d : comparison::fingerprint_differences(both, {})) {
    if (!d.matters) continue;
    const auto told = [](const std::string& v) { return v.empty() ? std::string("-") : v; };
    events.push_back(fmt::format("{} {} -> {}", d.key, told(d.values[0]), told(d.values[1])));
  }
  return events;
}

std::string key_of(const StoredRun& run, const StoredPoint& point, const std::string& metric) {
  std::string key = run.node + "\n" + run.config_hash + "\n" + point.workload + "\n" + metric;
  for (const auto& [name, value] : point.params) key += "\n" + name + "=" + value;
  return key;
}

void judge_newest(Series& s) {
  const Level level = s.levels.back();
  const std::size_t last = s.median.size() - 1;
  const std::size_t from = std::max(level.from, last > kRecent ? last - kRecent : 0);
  if (last <= from || last - from < statistics::kFewestAlike) return;
  const auto usual =
      statistics::robust(std::span<const double>(s.median).subspan(from, last - from));
  s.newest.z = usual.z(s.median[last]);
  s.newest.unusual = std::abs(s.newest.z) > kUnusual;
  if (!s.newest.unusual) return;
  s.newest.direction = direction_of(s.median[last] / usual.median, s.better);
  s.newest.explanation = fmt::format(
      "the newest run lies {:.1f} robust deviations from the {} before it ({}): unusual; one run "
      "is "
      "no change",
      s.newest.z, last - from, comparison::change_text(s.median[last] / usual.median));
}

void judge_series(Series& s, const std::vector<Run>& runs) {
  if (s.median.size() < statistics::kFewestRuns) {
    s.why = fmt::format("{} runs; {} tell of changes", s.median.size(), statistics::kFewestRuns);
    return;
  }
  const auto cuts = statistics::change_points(s.median, s.delta);
  std::size_t from = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t to = i < cuts.size() ? cuts[i].at : s.median.size();
    s.levels.push_back(
        {from, to, statistics::median(std::span<const double>(s.median).subspan(from, to - from))});
    from = to;
  }
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    Change c;
    c.at = cuts[i].at;
    c.p = cuts[i].p;
    c.before = s.levels[i].median;
    c.after = s.levels[i + 1].median;
    c.direction = direction_of(c.after / c.before, s.better);
    const Run &first = runs[s.run[c.at]], &last = runs[s.run[c.at - 1]];
    c.events = first.events;
    c.explanation =
        fmt::format("{} of {}: {} from {} to {}, between {} and {}", s.metric, s.point,
                    comparison::change_text(c.after / c.before), format_in_unit(c.before, s.unit),
                    format_in_unit(c.after, s.unit), last.started_utc, first.started_utc);
    if (!c.events.empty()) c.explanation += "; then changed: " + join(c.events);
    s.changes.push_back(std::move(c));
  }
  judge_newest(s);
}

/// Changed for the worse first, then otherwise changed, unusual, quiet, too short.
int rank_of(const Series& s) {
  if (!s.changes.empty()) return s.changes.back().direction == Direction::worse ? 0 : 1;
  return s.newest.unusual ? 2 : s.why.empty() ? 3 : 4;
}

void conclude(History& h) {
  bool worse = false, unusual_worse = false;
  for (const Series& s : h.series) {
    h.too_short += !s.why.empty();
    h.changes += s.changes.size();
    h.unusual += s.newest.unusual;
    worse |= !s.changes.empty() && s.changes.back().direction == Direction::worse;
    unusual_worse |= s.newest.unusual && s.newest.direction == Direction::worse;
  }
  if (worse) {
    h.word = "FAIL";
    h.exit_code = kFail;
  } else if (unusual_worse) {
    h.word = "INCONCLUSIVE";
    h.exit_code = kInconclusive;
  } else if (h.too_short == h.series.size() || !h.unreadable.empty()) {
    h.word = "INCOMPLETE";
    h.exit_code = kIncomplete;
  } else {
    h.word = "PASS";
  }
  h.sentence =
      fmt::format("{} runs, {} series: {} change{}", h.runs.size(), h.series.size(),
                  h.changes == 0 ? "no" : fmt::format("{}", h.changes), h.changes == 1 ? "" : "s");
  if (h.unusual > 0) h.sentence += fmt::format(", the newest run of {} unusual", h.unusual);
  if (h.too_short > 0) h.sentence += fmt::format(", {} too short to tell", h.too_short);
  h.sentence += ".";
  for (const Series& s : h.series) {
    if (s.changes.empty()) break;
    h.sentence += " " + s.changes.back().explanation + ".";
    break;
  }
}

}  // namespace

std::string_view to_string(Direction direction) {
  switch (direction) {
    case Direction::worse:
      return "worse";
    case Direction::better:
      return "better";
    case Direction::differs:
      return "differs";
  }
  return "";
}

History judge(std::vector<StoredRun> runs, const comparison::Options& options,
              std::vector<std::pair<std::string, std::string>> unreadable) {
  std::stable_sort(runs.begin(), runs.end(), [](const StoredRun& a, const StoredRun& b) {
    return std::tie(a.node, a.started_utc, a.id) < std::tie(b.node, b.started_utc, b.id);
  });
  History h;
  h.unreadable = std::move(unreadable);
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StoredRun& run = runs[i];
    h.runs.push_back({run.id, run.path, run.node, run.started_utc, run.config_hash,
                      run.summary.word,
                      i > 0 && runs[i - 1].node == run.node ? events_of(runs[i - 1], run)
                                                            : std::vector<std::string>()});
    for (const StoredPoint& point : run.points) {
      for (const StoredMetric& metric : point.metrics) {
        if (metric.values.empty() || !comparison::is_gate(point, metric.name, options, run))
          continue;
        const auto [known, is_new] =
            index.try_emplace(key_of(run, point, metric.name), h.series.size());
        if (is_new) {
          Series s;
          s.node = run.node;
          s.config_hash = run.config_hash;
          s.workload = point.workload;
          s.point = point.id;
          s.params = point.params;
          s.metric = metric.name;
          s.unit = metric.unit;
          s.description = metric.description;
          s.better = metric.better;
          s.delta = comparison::delta_of(metric.name, options);
          h.series.push_back(std::move(s));
        }
        Series& s = h.series[known->second];
        s.run.push_back(i);
        s.median.push_back(metric.median);
        s.low.push_back(metric.low);
        s.high.push_back(metric.high);
      }
    }
  }
  if (h.series.empty()) throw UsageError("history: no run has a metric to follow");
  for (Series& s : h.series) judge_series(s, h.runs);
  std::stable_sort(h.series.begin(), h.series.end(),
                   [](const Series& a, const Series& b) { return rank_of(a) < rank_of(b); });
  conclude(h);
  return h;
}

}  // namespace headrace::history
