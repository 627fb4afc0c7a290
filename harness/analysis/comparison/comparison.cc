// Comparing the metrics of joined points, and the one word for each pair.
#include "harness/analysis/comparison/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "harness/analysis/comparison/gates.h"
#include "harness/analysis/comparison/join.h"
#include "harness/analysis/comparison/past_sessions.h"
#include "harness/analysis/comparison/row_judging.h"
#include "harness/analysis/comparison/row_words.h"
#include "harness/judge/statistics/summary.h"
#include "harness/results/pair_metrics.h"
#include "harness/workload/registry.h"

namespace headrace::comparison {
namespace {

// Equivalent metrics of one point: rates made of the same time, a percentile that is the maximum. They are one finding.

constexpr double kTolerance = 5e-6;  // files of pages carry 7 digits
constexpr std::size_t kFewest = 4;   // values of both sides: fewer agree by chance

/// All values, A's before B's.
std::vector<double> all_values_of(const Row& row) {
  std::vector<double> all = row.base.values;
  all.insert(all.end(), row.other.values.begin(), row.other.values.end());
  return all;
}

template <class Combine>
bool is_constant(const std::vector<double>& x, const std::vector<double>& y, Combine combine) {
  double low = combine(x[0], y[0]), high = low;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double value = combine(x[i], y[i]);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return high <= low * (1 + kTolerance);
}

bool say_the_same(const Row& a, const Row& b) {
  if (a.delta != b.delta || a.callable != b.callable || a.reason != b.reason) return false;
  if (a.base.values.size() != b.base.values.size()) return false;
  const std::vector<double> x = all_values_of(a), y = all_values_of(b);
  if (x.size() != y.size() || x.size() < kFewest) return false;
  // A constant metric says nothing about another constant one.
  if (is_constant(x, y, [](double p, double) { return p; })) return false;
  return is_constant(x, y, [](double p, double q) { return p / q; }) ||
         is_constant(x, y, [](double p, double q) { return p * q; });
}

/// Sets `says_same_as` of every row that follows another one of its point. The values show it, not a table of metrics.
/// In every repetition of both sides, one is the same multiple of the other, or of its inverse. Gates are never folded.
void fold_same_facts(std::vector<Row>& rows) {
  std::map<std::pair<std::string, std::string>, std::vector<Row*>> by_point;
  for (Row& row : rows)
    if (!row.fact) by_point[{row.base_point, row.other_point}].push_back(&row);
  for (auto& [point, of_point] : by_point) {
    std::stable_sort(of_point.begin(), of_point.end(), [](const Row* a, const Row* b) { return a->gated > b->gated; });
    std::vector<const Row*> heads;
    for (Row* row : of_point) {
      const auto head = std::find_if(heads.begin(), heads.end(),
                                     [&](const Row* known) { return !row->gated && say_the_same(*known, *row); });
      if (head == heads.end())
        heads.push_back(row);
      else
        row->says_same_as = (*head)->metric;
    }
  }
}

// Where in the distribution the latencies of a joined point differ.

/// Adds a shift for each phase and part that both sides have.
void compare_latency(const Joined& j, Pair& pair) {
  static constexpr std::array kShares = {0.01, 0.05, 0.1,  0.2,  0.3,   0.4,   0.5,   0.6,    0.7,   0.8,
                                         0.9,  0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999};
  for (const results::StoredLatency& a : j.base_point().latency) {
    for (const results::StoredLatency& b : j.other_point().latency) {
      if (a.phase != b.phase || a.part != b.part) continue;
      LatencyShift shift{j.base_point().workload, j.base_point().id,  j.other_point().id, a.phase, a.part, {}, {}, {},
                         a.histogram.total(),     b.histogram.total()};
      const double fewest = static_cast<double>(std::min(shift.base_operations, shift.other_operations));
      for (const double share : kShares) {
        if (fewest * (1 - share) < 10) break;  // rule 20
        shift.probability.push_back(share);
        shift.base_ns.push_back(a.histogram.percentile(share));
        shift.other_ns.push_back(b.histogram.percentile(share));
      }
      if (!shift.probability.empty()) pair.latency.push_back(std::move(shift));
    }
  }
}

using results::StoredMetric;
using results::StoredPoint;
using results::StoredRun;
using statistics::Change;

/// The system's differences from itself, by point and metric.
using Floors = std::map<std::pair<results::PointKey, std::string>, double>;
Floors floors_for(const Options& options) {
  Floors floors;
  if (options.noise)
    for (const NoiseRow& row : options.noise->rows)
      floors[{results::point_key(row.point, options.across), row.metric}] = row.noise_floor;
  return floors;
}

/// For data that is read, not measured, the time that reading took is irrelevant.
bool is_beside_the_point(const StoredPoint& point, const StoredMetric& metric) {
  const auto standard = standard_metrics();
  return point.deterministic &&
         std::any_of(standard.begin(), standard.end(), [&](const Metric& m) { return m.name == metric.name; });
}

void compare_point(const Joined& j, const PastSessions& history, const Floors& floors, const Options& options,
                   Comparison& all, Pair& pair) {
  const StoredPoint &base_point = j.base_point(), &other_point = j.other_point();
  const Side &base = all.sides[pair.base], &other = all.sides[pair.other];
  // Not all pairs meet in every run; a requested one is reported.
  const auto need_not_meet = [&](const StoredMetric& metric) {
    return results::is_pair_metric(metric.name) && !options.gates.selects(base.first(), base_point, metric.name);
  };
  for (const StoredMetric& metric : base_point.metrics) {
    if (is_beside_the_point(base_point, metric)) continue;
    const StoredMetric* theirs = other_point.find(metric.name);
    const auto leave_out = [&](const std::string& side, const std::string& why) {
      pair.not_compared.push_back(
          {base_point.id, metric.name, side, why, options.gates.selects(base.first(), base_point, metric.name)});
    };
    if (theirs == nullptr) {
      if (!need_not_meet(metric)) leave_out(base.label, "only in " + base.label);
      continue;
    }
    if (theirs->unit != metric.unit) {
      leave_out("", fmt::format("other units: '{}' and '{}'", metric.unit, theirs->unit));
      continue;
    }
    RowContext context{&options, &all, {}, {}};
    if (!all.design.interleaved)
      context.history = history.of(j.key, metric.name, [](const StoredMetric& m) { return m.median; });
    all.history_sessions = std::max(all.history_sessions, context.history.sessions);
    if (const auto floor = floors.find({j.key, metric.name}); floor != floors.end())
      context.noise_floor = floor->second;
    JudgedRow judged = judge_row(j, base, other, metric, context);
    if (judged.row)
      pair.rows.push_back(std::move(*judged.row));
    else
      leave_out(judged.side, judged.why);
  }
  for (const StoredMetric& metric : other_point.metrics)
    if (base_point.find(metric.name) == nullptr && !is_beside_the_point(other_point, metric) && !need_not_meet(metric))
      pair.not_compared.push_back({other_point.id, metric.name, other.label, "only in " + other.label,
                                   options.gates.selects(base.first(), other_point, metric.name)});
}

/// Rules 10 and 15 look at all findings together. They use only metrics that may be called changed: a disturbed metric
/// with a small p would let others pass.
void judge_together(bool undeclared_difference, Pair& pair) {
  std::vector<double> p;
  std::vector<Row*> asked;
  for (Row& row : pair.rows) {
    row.significant |= row.gated;
    if (row.significant || !row.callable || !row.says_same_as.empty()) continue;
    p.push_back(row.estimate->p);
    asked.push_back(&row);
  }
  const std::vector<bool> out = statistics::stand_out(p);
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i]->significant = out[i];
  std::map<std::pair<std::string, std::string>, bool> findings;
  for (const Row& row : pair.rows) findings[{row.base_point, row.metric}] = row.significant;
  for (Row& row : pair.rows)
    if (!row.says_same_as.empty()) row.significant = findings.at({row.base_point, row.says_same_as});
  for (Row& row : pair.rows) {
    if (!is_changed(row.change) || row.fact) continue;
    if (undeclared_difference)
      row.reason = Reason::fingerprint_differs;
    else if (!row.significant)
      row.reason = Reason::straddles;
    else
      continue;
    row.change = Change::inconclusive;
  }
}

/// The ratio's distance beyond delta, in multiples of it. Metrics without a conclusion come last.
double distance(const Row& row) {
  if (row.fact || !row.estimate) return is_changed(row.change) ? std::numeric_limits<double>::infinity() : 0;
  if (!row.callable) return 0;
  return std::abs(std::log(row.estimate->ratio)) / std::log1p(row.delta);
}

/// In the order of Pair::rows.
void put_in_order(std::vector<Row>& rows) {
  std::vector<Row> findings, ordered;
  std::multimap<std::pair<std::string, std::string>, Row> followers;
  for (Row& row : rows) {
    if (row.says_same_as.empty())
      findings.push_back(std::move(row));
    else
      followers.emplace(std::pair(row.base_point, row.says_same_as), std::move(row));
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Row& a, const Row& b) {
    if (a.gated != b.gated) return a.gated;
    return distance(a) > distance(b);
  });
  for (Row& row : findings) {
    const auto [from, to] = followers.equal_range({row.base_point, row.metric});
    ordered.push_back(std::move(row));
    for (auto at = from; at != to; ++at) ordered.push_back(std::move(at->second));
  }
  rows = std::move(ordered);
}

void summarize(const Comparison& all, Pair& pair) {
  PairSummary& s = pair.summary;
  unsigned changed = 0, gated_worse = 0, gated_open = 0, gated_measured = 0;
  std::vector<double> visible;
  for (const Row& row : pair.rows) {
    if (!row.says_same_as.empty()) continue;
    ++s.findings;
    s.worse += row.change == Change::worse;
    s.better += row.change == Change::better;
    s.differs += row.change == Change::differs;
    s.same += row.change == Change::same;
    s.small += row.change == Change::small;
    s.inconclusive += row.change == Change::inconclusive;
    s.gated += row.gated;
    gated_worse += row.gated && row.change == Change::worse;
    gated_open += row.gated && row.change == Change::inconclusive;
    if (row.fact) continue;
    gated_measured += row.gated;
    changed += is_changed(row.change) && !row.gated;
    if (row.callable) visible.push_back(statistics::smallest_called(*row.estimate, row.delta));
  }
  s.expected_by_chance = statistics::kFalseDiscoveryRate * changed + (1 - all.design.level) * gated_measured;
  if (!visible.empty()) s.smallest_visible = statistics::median(visible);
  const bool gate_missing =
      std::any_of(pair.not_compared.begin(), pair.not_compared.end(), [](const NotCompared& n) { return n.gated; });
  const bool incomplete = gate_missing || s.gated == 0;  // nothing decides: not green either
  s.word = worst({.fail = gated_worse > 0, .inconclusive = gated_open > 0, .incomplete = incomplete});
  s.exit_code = exit_code(s.word);
  s.sentence = pair_sentence(all, pair);
  s.about_gates = gates_sentence(pair);
}

/// The blocks that all sides have finished.
std::set<unsigned> finished_blocks(const std::vector<Side>& sides) {
  std::set<unsigned> common(sides.front().blocks.begin(), sides.front().blocks.end());
  for (const Side& side : sides)
    std::erase_if(common, [&](unsigned block) {
      return std::find(side.blocks.begin(), side.blocks.end(), block) == side.blocks.end();
    });
  return common;
}

Design design_of(const std::vector<Side>& sides, const Options& options) {
  Design d;
  d.delta_rate = options.delta_rate;
  d.delta_tail = options.delta_tail;
  d.interleaved = std::all_of(sides.begin(), sides.end(), [](const Side& side) { return !side.blocks.empty(); });
  if (!d.interleaved) {
    d.sentence = "stored runs, not interleaved";
    return d;
  }
  d.level = statistics::kBlockLevel;
  const std::set<unsigned> finished = finished_blocks(sides);
  d.blocks = static_cast<unsigned>(finished.size());
  d.look = d.blocks >= statistics::kLastLook    ? statistics::kLastLook
           : d.blocks >= statistics::kFirstLook ? statistics::kFirstLook
                                                : 0;
  d.next_look = d.blocks >= statistics::kLastLook    ? 0
                : d.blocks >= statistics::kFirstLook ? statistics::kLastLook
                                                     : statistics::kFirstLook;
  if (d.look > 0) d.last_judged = *std::next(finished.begin(), d.look - 1);
  d.sentence = fmt::format("{} interleaved block{}, each A B B A", d.blocks, d.blocks == 1 ? "" : "s");
  if (d.look > 0 && d.blocks > d.look) d.sentence += fmt::format("; the first {} decide", d.look);
  return d;
}

void warn(const Comparison& all, Pair& pair) {
  const StoredRun &a = all.sides[pair.base].first(), &b = all.sides[pair.other].first();
  if (a.config_hash != b.config_hash && !all.design.interleaved)  // there it is on purpose
    pair.warnings.push_back(fmt::format("the configurations differ: {} and {}", a.config_hash, b.config_hash));
  if (a.job != b.job) pair.warnings.push_back("the jobs differ");
  for (const StoredRun* run : {&a, &b})
    if (run->summary.word == Outcome::interrupted)
      pair.warnings.push_back(fmt::format("{} was interrupted: it is not complete", run->id));
  pair.same_run = a.id == b.id && a.started_utc == b.started_utc && a.node == b.node && &a != &b;
  if (pair.same_run) pair.warnings.push_back("both sides are the same run");
}

}  // namespace

double delta_of(std::string_view metric, double rate, double tail) {
  const auto share = percentile_of(metric);
  const bool of_tail = (share && *share >= 0.9) || metric.ends_with("latency_max_ns");
  return of_tail ? tail : rate;
}

void set_noise(const Noise& noise, Comparison& comparison) {
  comparison.noise = noise.summary();
  for (const NoiseRow& floor : noise.rows)
    for (Pair& pair : comparison.pairs)
      for (Row& row : pair.rows)
        if (row.base_point == floor.point.id && row.metric == floor.metric) row.noise_floor = floor.noise_floor;
}

std::string_view to_string(Change change) {
  switch (change) {
    case Change::worse:
      return "worse";
    case Change::better:
      return "better";
    case Change::differs:
      return "differs";
    case Change::same:
      return "same";
    case Change::small:
      return "small";
    case Change::inconclusive:
      return "inconclusive";
  }
  return "";
}

Comparison compare(std::vector<Side> sides, const Options& options) {
  if (sides.size() < 2) throw UsageError("a comparison needs two runs");
  require_matches(options.gates.globs(), sides);
  Comparison all;
  all.sides = std::move(sides);
  all.design = design_of(all.sides, options);
  std::vector<const StoredRun*> firsts;
  for (const Side& side : all.sides) firsts.push_back(&side.first());
  all.fingerprint = fingerprint_differences(firsts, options.declared);
  all.history_source = options.history_source;

  if (options.noise) all.noise = options.noise->summary();

  const PastSessions history = all.design.interleaved
                                   ? PastSessions()
                                   : PastSessions(all.sides.front().first(), options.history, options.across);
  const Floors floors = floors_for(options);
  for (std::size_t other = 1; other < all.sides.size(); ++other) {
    Pair pair;
    pair.other = other;
    const bool undeclared = std::any_of(
        all.fingerprint.begin(), all.fingerprint.end(),
        [&](const FingerprintDifference& d) { return d.matters && !d.declared && d.values[0] != d.values[other]; });
    const auto joined = join(all.sides[0], all.sides[other], options, pair);
    for (const Joined& j : joined) {
      compare_point(j, history, floors, options, all, pair);
      compare_latency(j, pair);
    }
    if (pair.rows.empty())
      throw UsageError(fmt::format(
          "{} and {} measured nothing in common: {}", all.sides[0].source, all.sides[other].source,
          pair.not_compared.empty() ? "no points"
                                    : pair.not_compared.front().point + ": " + pair.not_compared.front().why));
    fold_same_facts(pair.rows);
    judge_together(undeclared, pair);
    for (Row& row : pair.rows) write_words(all, pair, row);
    put_in_order(pair.rows);
    pair.parameters = differing_parameters(joined);
    warn(all, pair);
    summarize(all, pair);
    all.pairs.push_back(std::move(pair));
  }
  if (!all.design.interleaved && all.history_sessions == 0)
    all.history_why = options.history.empty()
                          ? "no past runs were given"
                          : fmt::format("fewer than {} past runs have the same configuration and fingerprint",
                                        statistics::kFewestSessions);
  for (const Pair& pair : all.pairs) all.word = worst(all.word, pair.summary.word);
  all.exit_code = exit_code(all.word);
  return all;
}

}  // namespace headrace::comparison
