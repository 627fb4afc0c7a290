#include "harness/analysis/history/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "harness/analysis/comparison/row_words.h"
#include "harness/analysis/history/clusters.h"
#include "harness/base/diagnostics.h"
#include "harness/base/printable.h"
#include "harness/base/units.h"
#include "harness/judge/statistics/humps.h"
#include "harness/judge/statistics/robust.h"
#include "harness/judge/statistics/summary.h"
#include "harness/results/metric_key.h"
#include "harness/results/pair_metrics.h"

namespace headrace::history {
namespace {

using results::StoredMetric;
using results::StoredPoint;
using results::StoredRun;

Direction direction_of(double value, double usual, Better better) {
  if (better == Better::neither) return Direction::differs;
  return (value > usual) == (better == Better::higher) ? Direction::better : Direction::worse;
}

/// Whose fingerprint a run of several hosts reports; "" of one alone.
std::string first_host(const StoredRun& run) {
  const auto reported = run.environment.find("launch.host_of_rank");
  return reported == run.environment.end() ? "" : reported->second.substr(0, reported->second.find(' '));
}

/// The changes in a run, most important first.
std::vector<std::string> events_of(const StoredRun& before, const StoredRun& run) {
  const StoredRun* both[] = {&before, &run};
  std::vector<std::string> events;
  for (const auto& d : comparison::fingerprint_differences(both, {})) {
    if (!d.matters) continue;
    const auto describe = [](const std::string& v) { return v.empty() ? std::string("-") : v; };
    events.push_back(fmt::format("{} {} -> {}", d.key, describe(d.values[0]), describe(d.values[1])));
  }
  return events;
}

/// A metric that a node, or a cluster, measures by a configuration.
struct SeriesKey {
  std::string node, configuration;
  unsigned nodes = 1;  // a rate of 8 nodes is no series with one of 7
  results::MetricKey metric;
  auto operator<=>(const SeriesKey&) const = default;
};

/// For each run, the hash of its configuration. Another version of the program may have new parameters and hash the
/// same configuration differently. Where it has the same points of the same file, both runs get the first hash.
std::vector<std::string> configurations(const std::vector<StoredRun>& runs) {
  struct Known {
    std::string program, hash;
  };
  std::map<std::string, std::string> of_hash;
  std::map<std::tuple<std::string, std::string, std::set<results::PointKey>>, Known> of_points;
  std::vector<std::string> all;
  for (const StoredRun& run : runs) {
    const auto [seen, is_new] = of_hash.try_emplace(run.config_hash, run.config_hash);
    if (is_new) {
      std::set<results::PointKey> points;
      for (const StoredPoint& point : run.points) points.insert(results::point_key(point));
      const std::string program = run.version + " " + run.revision;
      const auto [same, first] =
          of_points.try_emplace({run.name, run.config_file, std::move(points)}, Known{program, run.config_hash});
      if (!first && same->second.program != program) {
        seen->second = same->second.hash;
        same->second.program = program;  // a second one of that version is another configuration
      }
    }
    all.push_back(seen->second);
  }
  return all;
}

/// Only a part was asked for, so that nothing is missing.
bool is_partial(const StoredRun& run) {
  return std::any_of(run.command.begin(), run.command.end(),
                     [](const std::string& word) { return word == "--only" || word.starts_with("--only="); });
}

/// "+12 %", or "from 0" where there is nothing to be a share of.
std::string change_words(double before, double after) {
  return before == 0 ? "no longer 0" : comparison::change_text(after / before);
}

/// The newest run of the series' configuration: part of the levels, or left out for a reason.
void judge_newest(Series& s) {
  const std::size_t last_out = s.left_out.empty() ? 0 : s.left_out.back().run + 1,
                    last_in = s.run.empty() ? 0 : s.run.back() + 1;
  if (last_out > last_in) {
    s.newest.left_out_for = s.left_out.back().why;
    std::size_t zeros = 0;
    for (std::size_t i = s.left_out.size(); i-- > 0 && s.left_out[i].run >= last_in;)
      if (s.left_out[i].why == "zero") ++zeros;
    s.gone = zeros >= statistics::kFewestInLevel && !s.run.empty();
    s.newest.explanation =
        s.newest.left_out_for == "zero"
            ? fmt::format("the newest run gives 0{}",
                          s.gone ? fmt::format(", as {} do since the last that gave more", zeros) : "")
            : fmt::format("the newest run says nothing of it: {}", s.newest.left_out_for);
    return;
  }
  if (!s.why.empty()) return;
  const Level level = s.levels.back();
  const std::size_t last = s.value.size() - 1;
  const std::size_t from = std::max(level.from, last > kRecent ? last - kRecent : 0);
  if (last <= from || last - from < statistics::kFewestAlike) return;
  const auto usual = statistics::robust(std::span<const double>(s.value).subspan(from, last - from));
  const double value = s.value[last];
  s.newest.z = usual.z(value);
  s.newest.unusual = usual.spread > 0 ? std::abs(s.newest.z) > kUnusual : value != usual.median;
  if (!s.newest.unusual) return;
  s.newest.direction = direction_of(value, usual.median, s.better);
  s.newest.explanation =
      usual.spread > 0 ? fmt::format(
                             "the newest run lies {:.1f} robust deviations from the {} before it ({}): "
                             "unusual; one run is no change",
                             s.newest.z, last - from, change_words(usual.median, value))
                       : fmt::format("the newest run gives {}, where the {} before it gave {}: unusual",
                                     format_in_unit(value, s.unit), last - from, format_in_unit(usual.median, s.unit));
}

/// A count that was read changes wherever it is another: there is nothing to estimate.
std::vector<statistics::ChangePoint> changes_of_count(const std::vector<double>& values) {
  std::vector<statistics::ChangePoint> cuts;
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i] != values[i - 1]) cuts.push_back({i, 0});
  return cuts;
}

void find_levels(Series& s, const std::vector<statistics::ChangePoint>& cuts) {
  std::size_t from = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t to = i < cuts.size() ? cuts[i].at : s.value.size();
    s.levels.push_back({from, to, statistics::median(std::span<const double>(s.value).subspan(from, to - from))});
    from = to;
  }
}

/// Since the last change that parts all runs before it from all after it.
void find_two_levels(Series& s, const std::vector<statistics::ChangePoint>& cuts) {
  std::size_t from = 0;
  for (const statistics::ChangePoint& cut : cuts)
    if (!cut.alternates) from = cut.at;
  if (s.value.size() - from < statistics::kFewestRuns) return;
  const auto recent = std::span<const double>(s.value).subspan(from);
  const auto humps = statistics::two_humps(recent);
  if (!humps) return;
  std::vector<double> lower, upper;
  for (const double value : recent) (value <= humps->below ? lower : upper).push_back(value);
  TwoLevels two{statistics::median(lower), statistics::median(upper), lower.size(), upper.size(), ""};
  if (two.lower > 0 && two.upper / two.lower < 1 + s.delta) return;
  two.explanation = fmt::format("{} of {}: the last {} runs are at two levels, {} near {} and {} near {}", s.metric,
                                s.point, recent.size(), two.at_lower, format_in_unit(two.lower, s.unit), two.at_upper,
                                format_in_unit(two.upper, s.unit));
  s.two_levels = std::move(two);
}

std::string explanation_of(const Series& s, const Change& c, const std::vector<Run>& runs) {
  std::string text =
      fmt::format("{} of {}: {} from {} to {}, between {} and {}", s.metric, s.point, change_words(c.before, c.after),
                  format_in_unit(c.before, s.unit), format_in_unit(c.after, s.unit), runs[s.run[c.at - 1]].started_utc,
                  runs[s.run[c.at]].started_utc);
  if (!c.events.empty()) text += "; then changed: " + join(c.events);
  if (s.wanders)
    text += fmt::format("; it may be a drift: neighbouring runs correlate by {:.2f}", s.correlation);
  else if (!c.certain)
    text += fmt::format("; the order of the runs at both levels may be chance (p = {:.2g})", c.p);
  return text;
}

void find_changes(Series& s, const std::vector<Run>& runs) {
  const bool count = s.fact && s.unit == "count";
  const auto cuts = count ? changes_of_count(s.value) : statistics::change_points(s.value, s.delta);
  if (!count) {
    s.correlation = statistics::correlation_within(s.value, cuts);
    s.wanders = !cuts.empty() && statistics::wanders(s.value, cuts);
    find_two_levels(s, cuts);
  }
  find_levels(s, cuts);
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    Change c;
    c.at = cuts[i].at;
    c.p = cuts[i].p;
    c.before = s.levels[i].median;
    c.after = s.levels[i + 1].median;
    c.direction = direction_of(c.after, c.before, s.better);
    c.certain = !s.wanders && c.p <= statistics::kChangeLimit;
    c.events = runs[s.run[c.at]].events;
    c.explanation = explanation_of(s, c, runs);
    s.changes.push_back(std::move(c));
  }
}

/// For values that are read, two runs show a change.
std::size_t fewest_runs(const Series& s) { return s.fact && s.unit == "count" ? 2 : statistics::kFewestRuns; }

void judge_series(Series& s, const std::vector<Run>& runs) {
  if (const std::size_t fewest = fewest_runs(s); s.value.size() < fewest)
    s.why = fmt::format("{} run{}{}; changes show from {} on", s.value.size(), s.value.size() == 1 ? "" : "s",
                        s.left_out.empty() ? "" : fmt::format(", {} left out", s.left_out.size()), fewest);
  else
    find_changes(s, runs);
  judge_newest(s);
}

/// Worse or gone first, then otherwise changed, unusual or without a newest value, quiet, too
/// short.
int rank_of(const Series& s) {
  if (s.worse()) return 0;
  if (!s.changes.empty() || s.two_levels) return 1;
  if (s.newest.unusual || !s.newest.left_out_for.empty()) return 2;
  return s.why.empty() ? 3 : 4;
}

void conclude(History& h) {
  bool worse = false, doubtful = false;
  const bool judged = std::any_of(h.series.begin(), h.series.end(), [](const Series& s) { return s.why.empty(); });
  bool incomplete = !h.unreadable.empty() || !judged;
  for (const Series& s : h.series) {
    const bool pair = results::is_pair_metric(s.metric);  // not all pairs meet in every run
    h.too_short += !s.why.empty() && !pair;
    h.changes += s.changes.size();
    h.unusual += s.newest.unusual;
    const bool missing = s.newest.left_out_for == "missing";
    h.missing += missing;
    h.left_out += !missing && !s.newest.left_out_for.empty();
    worse |= s.worse();
    doubtful |= (s.newest.unusual && s.newest.direction == Direction::worse) ||
                (s.two_levels && s.better != Better::neither) || (!missing && !s.newest.left_out_for.empty()) ||
                (!s.changes.empty() && s.changes.back().direction == Direction::worse);
    incomplete |= missing || (!s.why.empty() && !s.superseded && !pair);
  }
  h.word = headrace::worst({.fail = worse, .inconclusive = doubtful, .incomplete = incomplete});
  h.exit_code = exit_code(h.word);
  h.sentence = fmt::format("{} run{}{} {} series", h.runs.size(), h.runs.size() == 1 ? "" : "s", judged ? "," : ";",
                           h.series.size());
  if (judged)
    h.sentence +=
        fmt::format(": {} change{}", h.changes == 0 ? "no" : fmt::format("{}", h.changes), h.changes == 1 ? "" : "s");
  else
    h.sentence += h.series.size() == 1 ? ", too short to judge" : ", all too short to judge";
  if (h.unusual > 0) h.sentence += fmt::format(", the newest run of {} unusual", h.unusual);
  if (h.missing > 0) h.sentence += fmt::format(", {} missing from the newest run", h.missing);
  if (h.left_out > 0) h.sentence += fmt::format(", {} with nothing to rely on in the newest run", h.left_out);
  if (judged && h.too_short > 0) h.sentence += fmt::format(", {} too short to judge", h.too_short);
  h.sentence += ".";
  h.together = changes_together(h.series, h.runs);
  for (const Together& one : h.together) h.sentence += " " + one.explanation + ".";
  if (h.together.empty()) {
    const Series& s = h.series.front();
    if (!s.changes.empty()) h.sentence += " " + s.changes.back().explanation + ".";
    if (s.two_levels) h.sentence += " " + s.two_levels->explanation + ".";
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

bool Series::worse() const {
  return gone || (!changes.empty() && changes.back().certain && changes.back().direction == Direction::worse);
}

namespace {

/// By node, then time; a copy of a run is no other run.
void sort_runs(std::vector<StoredRun>& runs) {
  std::stable_sort(runs.begin(), runs.end(), [](const StoredRun& a, const StoredRun& b) {
    return std::tie(a.node, a.started_utc, a.id) < std::tie(b.node, b.started_utc, b.id);
  });
  runs.erase(std::unique(runs.begin(), runs.end(),
                         [](const StoredRun& a, const StoredRun& b) {
                           return a.node == b.node && a.started_utc == b.started_utc && a.id == b.id &&
                                  a.config_hash == b.config_hash;
                         }),
             runs.end());
}

/// Calls for each metric of the run that has values.
template <class Visit>
void each_metric(const StoredRun& run, Visit visit) {
  for (const StoredPoint& point : run.points)
    for (const StoredMetric& metric : point.metrics)
      if (!metric.values.empty()) visit(point, metric);
}

Series series_of(const StoredRun& run, const StoredPoint& point, const StoredMetric& metric, const Options& options) {
  Series s;
  s.node = run.node;
  s.workload = point.workload;
  s.point = point.id;
  s.params = point.params;
  s.metric = metric.name;
  s.unit = metric.unit;
  s.description = metric.description;
  s.better = metric.better;
  s.fact = point.deterministic;
  s.delta = comparison::delta_of(metric.name, options.delta_rate, options.delta_tail);
  return s;
}

/// Puts a run's value where it belongs: a rate of 0 is no level, but a finding of its own. `names_dropped`: by runs of
/// this series. Those that did not may be faster for that alone.
void take(Series& s, std::size_t run, const StoredPoint& point, const StoredMetric& metric, bool names_dropped) {
  const double ratio = results::unit_ratio(metric.unit, s.unit), value = results::value_of(metric);
  std::string why(results::left_out_for(point));
  if (why.empty() && names_dropped && !results::names_are_cold(point).value_or(true)) why = "names-in-memory";
  if (why.empty() && s.better == Better::higher && value <= 0) why = "zero";
  if (!why.empty()) {
    s.left_out.push_back({run, why, value * ratio});
    return;
  }
  s.run.push_back(run);
  s.value.push_back(value * ratio);
  s.low.push_back(std::min(metric.low, value) * ratio);
  s.high.push_back(std::max(metric.high, value) * ratio);
}

std::size_t latest(const Series& s) {
  return std::max(s.run.empty() ? 0 : s.run.back(), s.left_out.empty() ? 0 : s.left_out.back().run);
}

/// All values of the metrics that any run of the same node and configuration names.
std::vector<Series> collect(const std::vector<StoredRun>& runs, const Options& options) {
  const std::vector<std::string> configuration = configurations(runs);
  const auto key_of = [&](std::size_t run, const StoredPoint& point, const StoredMetric& metric) {
    const bool of_all = !results::is_pair_metric(metric.name);
    return SeriesKey{runs[run].node, configuration[run], of_all ? point.nodes : 1u, results::metric_key(point, metric)};
  };
  std::set<SeriesKey> followed, names_dropped;
  for (std::size_t i = 0; i < runs.size(); ++i)
    each_metric(runs[i], [&](const StoredPoint& point, const StoredMetric& metric) {
      if (results::names_are_cold(point).value_or(false)) names_dropped.insert(key_of(i, point, metric));
      if (options.metrics.selects(runs[i], point, metric.name) ||
          (options.metrics.globs().empty() && results::is_pair_metric(metric.name)))
        followed.insert(key_of(i, point, metric));
    });
  std::vector<Series> all;
  std::map<SeriesKey, std::size_t> index;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> of_config;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StoredRun& run = runs[i];
    std::vector<std::size_t>& known = of_config[{run.node, configuration[i]}];
    std::set<std::size_t> reported;
    each_metric(run, [&](const StoredPoint& point, const StoredMetric& metric) {
      const SeriesKey key = key_of(i, point, metric);
      if (!followed.contains(key)) return;
      const auto [found, is_new] = index.try_emplace(key, all.size());
      if (is_new) {
        all.push_back(series_of(run, point, metric, options));
        all.back().config_hash = configuration[i];
        known.push_back(found->second);
      }
      if (reported.insert(found->second).second)
        take(all[found->second], i, point, metric, names_dropped.contains(key));
    });
    for (const std::size_t s : known)
      if (!reported.contains(s) && !is_partial(run) && !results::is_pair_metric(all[s].metric))
        all[s].left_out.push_back({i, "missing", {}});
  }
  for (Series& s : all)
    for (std::size_t i = latest(s) + 1; i < runs.size() && runs[i].node == s.node; ++i)
      s.superseded |= runs[i].config_file == runs[latest(s)].config_file && configuration[i] != s.config_hash;
  return all;
}

}  // namespace

History judge(std::vector<StoredRun> runs, const Options& options,
              std::vector<std::pair<std::string, std::string>> unreadable) {
  name_clusters(runs);
  sort_runs(runs);
  History h;
  h.unreadable = std::move(unreadable);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StoredRun& run = runs[i];
    h.runs.push_back({run.id, run.path, run.node, run.started_utc, run.config_hash, run.summary.word,
                      i > 0 && runs[i - 1].node == run.node && first_host(runs[i - 1]) == first_host(run)
                          ? events_of(runs[i - 1], run)
                          : std::vector<std::string>()});
  }
  h.series = collect(runs, options);
  if (h.series.empty())
    throw UsageErrors("history: no run has a metric to follow" +
                      (h.unreadable.empty() ? std::string() : "\n" + printable(h.unreadable.front().second)));
  for (Series& s : h.series) judge_series(s, h.runs);
  std::stable_sort(h.series.begin(), h.series.end(),
                   [](const Series& a, const Series& b) { return rank_of(a) < rank_of(b); });
  conclude(h);
  return h;
}

}  // namespace headrace::history
