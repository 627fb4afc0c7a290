// Comparing the metrics of joined points, and the one word for each pair.
#include "harness/comparison/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "harness/comparison/join.h"
#include "harness/comparison/row_words.h"
#include "harness/registry.h"
#include "harness/statistics/summary.h"

namespace headrace::comparison {
namespace {

using results::StoredMetric;
using results::StoredPoint;
using results::StoredRun;
using statistics::Change;

constexpr double kTolerated = 1.0 / 3;  // share of repetitions that may be disturbed

Values values_of(const std::vector<double>& values) {
  Values v;
  v.values = values;
  if (values.empty()) return v;
  const auto interval = statistics::median_interval(values);
  v.median = statistics::median(values);
  v.low = interval.low;
  v.high = interval.high;
  return v;
}

/// What one side says of a metric, all its runs together.
struct Gathered {
  std::vector<double> values;
  std::map<unsigned, std::vector<double>> by_block;
  std::set<unsigned> disturbed_blocks;
  bool too_few_operations = false;
  double disturbed_share = 0;  // of all its repetitions
  double unproven_share = 0;   // the worst of its runs
};

Gathered gather(const Side& side, const std::vector<Found>& points, const std::string& metric) {
  Gathered g;
  double disturbed = 0, repetitions = 0;
  for (const auto& [run, point] : points) {
    const StoredMetric* found = point->find(metric);
    if (found == nullptr) continue;
    g.values.insert(g.values.end(), found->values.begin(), found->values.end());
    g.too_few_operations |= found->too_few_operations;
    disturbed += point->disturbed_share * point->repetitions;
    repetitions += point->repetitions;
    g.unproven_share = std::max(g.unproven_share, point->cache_unproven_share);
    if (side.blocks.empty()) continue;
    auto& block = g.by_block[side.blocks[run]];
    block.insert(block.end(), found->values.begin(), found->values.end());
    if (point->disturbed_share > 0) g.disturbed_blocks.insert(side.blocks[run]);
  }
  if (repetitions > 0) g.disturbed_share = disturbed / repetitions;
  return g;
}

/// The points of past runs of the same configuration on the same machine; interleaved blocks need
/// none.
PointIndex history_for(const Comparison& all, const Options& options) {
  const StoredRun& base = all.sides.front().first();
  std::vector<const StoredRun*> runs;
  if (!all.design.interleaved)
    for (const StoredRun& run : options.history)
      if (run.config_hash == base.config_hash && same_fingerprint(run, base)) runs.push_back(&run);
  return index_points(runs, options);
}

/// How the metric's medians differ between past runs.
statistics::SessionSpread spread_of(const PointIndex& history, const std::string& key,
                                    const std::string& metric) {
  std::vector<double> medians;
  if (const auto found = history.find(key); found != history.end())
    for (const Found& past : found->second)
      if (const StoredMetric* m = past.point->find(metric); m && !m->values.empty())
        medians.push_back(m->median);
  return statistics::session_spread(medians);
}

/// Why nothing may be said of the metric, whatever its values are. What disturbed both sides of
/// interleaved blocks alike is among what they were compared under: their spread tells it.
Reason doubt(const Gathered& a, const Gathered& b, const Design& design) {
  if (std::max(a.unproven_share, b.unproven_share) > 0) return Reason::cache_unproven;
  if (a.too_few_operations || b.too_few_operations) return Reason::few_ops;
  const double disturbed = design.interleaved ? std::abs(a.disturbed_share - b.disturbed_share)
                                              : std::max(a.disturbed_share, b.disturbed_share);
  if (disturbed > kTolerated) return Reason::disturbed;
  return Reason::none;
}

bool is_changed(Change change) {
  return change == Change::worse || change == Change::better || change == Change::differs;
}

void judge_row(const Gathered& a, const Gathered& b, const Design& design,
               const statistics::SessionSpread& history, Row& row) {
  if (design.interleaved) {
    std::vector<double> base, other;
    for (const Block& block : row.blocks) {
      base.push_back(block.base);
      other.push_back(block.other);
    }
    row.estimate = statistics::compare_blocks(base, other, design.level);
  } else {
    row.estimate =
        statistics::compare_stored(row.base.values, row.other.values, history, design.level);
  }
  row.reason = doubt(a, b, design);
  if (row.reason != Reason::none) return;
  if (!row.estimate || (design.interleaved && design.look == 0)) {
    row.reason = Reason::few_reps;
    return;
  }
  const bool alone = !design.interleaved && history.sessions == 0;
  row.change = alone ? classify_single_sessions(*row.estimate, row.delta, row.better)
                     : classify(*row.estimate, row.delta, row.better);
  if (row.change != Change::inconclusive) return;
  double below = 0, above = 0;
  const bool humps = statistics::two_humped(row.base.values, &below, &above) ||
                     statistics::two_humped(row.other.values, &below, &above);
  row.reason = humps                                                        ? Reason::two_humped
               : alone && (row.estimate->low > 1 || row.estimate->high < 1) ? Reason::single_session
                                                                            : Reason::straddles;
}

/// The noise floor holds for the first look; more blocks see through half of its variance.
bool within_noise(const Row& row, const Design& design) {
  if (!row.noise_floor || !row.estimate || !is_changed(row.change)) return false;
  const double looks =
      static_cast<double>(std::max(design.look, statistics::kFirstLook)) / statistics::kFirstLook;
  return std::abs(std::log(row.estimate->ratio)) <= std::log1p(*row.noise_floor) / std::sqrt(looks);
}

/// What this system shows against itself, by point and metric.
using Floors = std::map<std::pair<std::string, std::string>, double>;
Floors floors_for(const Options& options) {
  Floors floors;
  if (options.noise)
    for (const NoiseRow& row : options.noise->rows)
      floors[{key_of(row.point, options), row.metric}] = row.noise_floor;
  return floors;
}

/// The blocks that both sides finished.
std::vector<Block> blocks_of(const Gathered& a, const Gathered& b) {
  std::vector<Block> blocks;
  for (const auto& [number, base] : a.by_block) {
    const auto other = b.by_block.find(number);
    if (other == b.by_block.end()) continue;
    blocks.push_back({number, statistics::median(base), statistics::median(other->second),
                      a.disturbed_blocks.count(number) + b.disturbed_blocks.count(number) > 0});
  }
  return blocks;
}

void compare_point(const Joined& j, const PointIndex& history, const Floors& floors,
                   const Options& options, Comparison& all, Pair& pair) {
  const StoredPoint &base_point = j.base_point(), &other_point = j.other_point();
  const Side &base = all.sides[pair.base], &other = all.sides[pair.other];
  for (const StoredMetric& metric : base_point.metrics) {
    const StoredMetric* theirs = other_point.find(metric.name);
    const auto leave_out = [&](const std::string& side, const std::string& why) {
      pair.not_compared.push_back({base_point.id, metric.name, side, why,
                                   is_gate(base_point, metric.name, options, base.first())});
    };
    if (theirs == nullptr) {
      leave_out(base.label, "only in " + base.label);
      continue;
    }
    if (theirs->unit != metric.unit) {
      leave_out("", fmt::format("other units: '{}' and '{}'", metric.unit, theirs->unit));
      continue;
    }
    const Gathered a = gather(base, j.base, metric.name), b = gather(other, j.other, metric.name);
    if (a.values.empty() || b.values.empty()) {
      leave_out(a.values.empty() ? base.label : other.label, "no repetition gave a value");
      continue;
    }
    const auto no_ratio = [](double v) { return !(v > 0); };
    if (std::any_of(a.values.begin(), a.values.end(), no_ratio) ||
        std::any_of(b.values.begin(), b.values.end(), no_ratio)) {
      leave_out("", "a value of 0 has no ratio");
      continue;
    }
    Row row;
    row.workload = base_point.workload;
    row.base_point = base_point.id;
    row.other_point = other_point.id;
    row.params = base_point.params;
    row.metric = metric.name;
    row.unit = metric.unit;
    row.description = metric.description;
    row.better = metric.better;
    row.gated = is_gate(base_point, metric.name, options, base.first());
    row.delta = delta_of(metric.name, options);
    row.base = values_of(a.values);
    row.other = values_of(b.values);
    row.blocks = blocks_of(a, b);
    const auto past = all.design.interleaved ? statistics::SessionSpread{}
                                             : spread_of(history, j.key, metric.name);
    all.history_sessions = std::max(all.history_sessions, past.sessions);
    if (const auto floor = floors.find({j.key, metric.name}); floor != floors.end())
      row.noise_floor = floor->second;
    judge_row(a, b, all.design, past, row);
    if (row.estimate && !std::isfinite(row.estimate->ratio)) {
      leave_out("", "its values lie too far apart for a ratio");
      continue;
    }
    row.within_noise = within_noise(row, all.design);
    if (row.within_noise) {
      row.change = Change::inconclusive;
      row.reason = Reason::straddles;
    }
    pair.rows.push_back(std::move(row));
  }
  for (const StoredMetric& metric : other_point.metrics)
    if (base_point.find(metric.name) == nullptr)
      pair.not_compared.push_back({other_point.id, metric.name, other.label,
                                   "only in " + other.label,
                                   is_gate(other_point, metric.name, options, base.first())});
}

void compare_latency(const Joined& j, Pair& pair) {
  static constexpr std::array kShares = {0.01,  0.05,  0.1,   0.2,    0.3,   0.4,  0.5,
                                         0.6,   0.7,   0.8,   0.9,    0.95,  0.98, 0.99,
                                         0.995, 0.998, 0.999, 0.9995, 0.9999};
  for (const results::StoredLatency& a : j.base_point().latency) {
    for (const results::StoredLatency& b : j.other_point().latency) {
      if (a.phase != b.phase || a.part != b.part) continue;
      LatencyShift shift{j.base_point().workload,
                         j.base_point().id,
                         j.other_point().id,
                         a.phase,
                         a.part,
                         {},
                         {},
                         {},
                         a.histogram.total(),
                         b.histogram.total()};
      const double fewest =
          static_cast<double>(std::min(shift.base_operations, shift.other_operations));
      for (const double share : kShares) {
        if (fewest * (1 - share) < 10) break;  // rule 6
        shift.probability.push_back(share);
        shift.base_ns.push_back(a.histogram.percentile(share));
        shift.other_ns.push_back(b.histogram.percentile(share));
      }
      if (!shift.probability.empty()) pair.latency.push_back(std::move(shift));
    }
  }
}

/// Rules 10 and 15 look at all rows together.
void judge_together(bool undeclared_difference, Pair& pair) {
  std::vector<double> p;
  std::vector<Row*> asked;
  for (Row& row : pair.rows) {
    row.significant = row.gated;
    if (row.gated || !row.estimate) continue;
    p.push_back(row.estimate->p);
    asked.push_back(&row);
  }
  const std::vector<bool> out = statistics::stand_out(p);
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i]->significant = out[i];
  for (Row& row : pair.rows) {
    if (!is_changed(row.change)) continue;
    if (undeclared_difference)
      row.reason = Reason::fingerprint_differs;
    else if (!row.significant)
      row.reason = Reason::straddles;
    else
      continue;
    row.change = Change::inconclusive;
  }
}

/// How far beyond delta the ratio lies, in multiples of it. What nothing may be said of comes last.
double distance(const Row& row) {
  for (const Reason doubtful :
       {Reason::few_reps, Reason::few_ops, Reason::cache_unproven, Reason::disturbed})
    if (row.reason == doubtful) return 0;
  return row.estimate ? std::abs(std::log(row.estimate->ratio)) / std::log1p(row.delta) : 0;
}

void summarize(const Comparison& all, Pair& pair) {
  PairSummary& s = pair.summary;
  unsigned changed = 0, gated_worse = 0, gated_open = 0;
  std::vector<double> visible;
  for (const Row& row : pair.rows) {
    s.worse += row.change == Change::worse;
    s.better += row.change == Change::better;
    s.differs += row.change == Change::differs;
    s.same += row.change == Change::same;
    s.small += row.change == Change::small;
    s.inconclusive += row.change == Change::inconclusive;
    s.gated += row.gated;
    changed += is_changed(row.change) && !row.gated;
    gated_worse += row.gated && row.change == Change::worse;
    gated_open += row.gated && row.change == Change::inconclusive;
    if (row.estimate) visible.push_back(row.estimate->smallest_visible);
  }
  s.expected_by_chance =
      statistics::kFalseDiscoveryRate * changed + (1 - all.design.level) * s.gated;
  if (!visible.empty()) s.smallest_visible = statistics::median(visible);
  const bool gate_missing = std::any_of(pair.not_compared.begin(), pair.not_compared.end(),
                                        [](const NotCompared& n) { return n.gated; });
  s.word = gated_worse    ? "FAIL"
           : gated_open   ? "INCONCLUSIVE"
           : gate_missing ? "INCOMPLETE"
                          : "PASS";
  s.exit_code = gated_worse ? 10 : gated_open ? 11 : gate_missing ? 12 : 0;
  s.sentence = pair_sentence(all, pair);
}

/// The runs of each side that a finished block has.
unsigned finished_blocks(const std::vector<Side>& sides) {
  std::set<unsigned> common(sides.front().blocks.begin(), sides.front().blocks.end());
  for (const Side& side : sides)
    std::erase_if(common, [&](unsigned block) {
      return std::find(side.blocks.begin(), side.blocks.end(), block) == side.blocks.end();
    });
  return static_cast<unsigned>(common.size());
}

Design design_of(const std::vector<Side>& sides, const Options& options) {
  Design d;
  d.delta_rate = options.delta_rate;
  d.delta_tail = options.delta_tail;
  d.interleaved = std::all_of(sides.begin(), sides.end(),
                              [](const Side& side) { return !side.blocks.empty(); });
  if (!d.interleaved) {
    d.sentence = "stored runs, not interleaved";
    return d;
  }
  d.level = statistics::kBlockLevel;
  d.blocks = finished_blocks(sides);
  d.look = d.blocks >= statistics::kLastLook    ? statistics::kLastLook
           : d.blocks >= statistics::kFirstLook ? statistics::kFirstLook
                                                : 0;
  d.next_look = d.blocks >= statistics::kLastLook    ? 0
                : d.blocks >= statistics::kFirstLook ? statistics::kLastLook
                                                     : statistics::kFirstLook;
  d.sentence =
      fmt::format("{} interleaved block{}, each A B B A", d.blocks, d.blocks == 1 ? "" : "s");
  return d;
}

void warn(const Comparison& all, Pair& pair) {
  const StoredRun &a = all.sides[pair.base].first(), &b = all.sides[pair.other].first();
  if (a.config_hash != b.config_hash && !all.design.interleaved)  // there it is on purpose
    pair.warnings.push_back(
        fmt::format("the configurations differ: {} and {}", a.config_hash, b.config_hash));
  if (a.job != b.job) pair.warnings.push_back("the jobs differ");
  for (const StoredRun* run : {&a, &b})
    if (run->summary.word == "INTERRUPTED")
      pair.warnings.push_back(fmt::format("{} was interrupted: it is not complete", run->id));
  if (a.id == b.id && a.started_utc == b.started_utc && a.node == b.node && &a != &b)
    pair.warnings.push_back("both sides are the same run");
}

}  // namespace

double delta_of(std::string_view metric, const Options& options) {
  const auto share = percentile_of(metric);
  const bool tail = (share && *share >= 0.9) || metric.ends_with("latency_max_ns");
  return tail ? options.delta_tail : options.delta_rate;
}

void set_noise(const Noise& noise, Comparison& comparison) {
  comparison.noise = noise.summary();
  for (const NoiseRow& floor : noise.rows)
    for (Pair& pair : comparison.pairs)
      for (Row& row : pair.rows)
        if (row.base_point == floor.point.id && row.metric == floor.metric)
          row.noise_floor = floor.noise_floor;
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
  Comparison all;
  all.sides = std::move(sides);
  all.design = design_of(all.sides, options);
  std::vector<const StoredRun*> firsts;
  for (const Side& side : all.sides) firsts.push_back(&side.first());
  all.fingerprint = fingerprint_differences(firsts, options.declared);
  all.history_source = options.history_source;

  if (options.noise) all.noise = options.noise->summary();

  const PointIndex history = history_for(all, options);
  const Floors floors = floors_for(options);
  for (std::size_t other = 1; other < all.sides.size(); ++other) {
    Pair pair;
    pair.other = other;
    const bool undeclared = std::any_of(
        all.fingerprint.begin(), all.fingerprint.end(), [&](const FingerprintDifference& d) {
          return d.matters && !d.declared && d.values[0] != d.values[other];
        });
    const auto joined = join(all.sides[0], all.sides[other], options, pair);
    for (const Joined& j : joined) {
      compare_point(j, history, floors, options, all, pair);
      compare_latency(j, pair);
    }
    if (pair.rows.empty())
      throw UsageError(fmt::format(
          "{} and {} measured nothing in common: {}", all.sides[0].source, all.sides[other].source,
          pair.not_compared.empty()
              ? "no points"
              : pair.not_compared.front().point + ": " + pair.not_compared.front().why));
    judge_together(undeclared, pair);
    for (Row& row : pair.rows) tell(all, pair, row);
    std::stable_sort(pair.rows.begin(), pair.rows.end(), [](const Row& a, const Row& b) {
      if (a.gated != b.gated) return a.gated;
      return distance(a) > distance(b);
    });
    warn(all, pair);
    summarize(all, pair);
    all.pairs.push_back(std::move(pair));
  }
  if (!all.design.interleaved && all.history_sessions == 0)
    all.history_why =
        options.history.empty()
            ? "no past runs were given"
            : fmt::format("fewer than {} past runs have the same configuration and fingerprint",
                          statistics::kFewestSessions);
  for (const int code : {0, 12, 11, 10})
    for (const Pair& pair : all.pairs)
      if (pair.summary.exit_code == code) {
        all.exit_code = code;
        all.word = pair.summary.word;
      }
  return all;
}

}  // namespace headrace::comparison
