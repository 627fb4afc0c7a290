#include "harness/analysis/comparison/row_judging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "harness/judge/statistics/summary.h"

namespace headrace::comparison {
namespace {

using results::StoredMetric;
using results::StoredPoint;
using results::StoredRepetition;
using statistics::Change;

constexpr double kTolerated = 1.0 / 3;  // share of repetitions that may be disturbed

/// The metric's values without those of disturbed repetitions, as long as these are few.
std::vector<double> undisturbed(const StoredPoint& point, const StoredMetric& metric) {
  std::vector<bool> disturbed;
  for (const StoredRepetition& r : point.each)
    if (r.counted && r.metrics.count(metric.name) != 0) disturbed.push_back(r.disturbed);
  const bool reported = disturbed.size() == metric.values.size();  // pages may leave repetitions out
  if (!reported || point.disturbed_share == 0 || point.disturbed_share > kTolerated) return metric.values;
  std::vector<double> values;
  for (std::size_t i = 0; i < disturbed.size(); ++i)
    if (!disturbed[i]) values.push_back(metric.values[i]);
  return values;
}

/// One side's values of a metric, over all its runs.
struct Gathered {
  std::vector<double> values;
  std::map<unsigned, std::vector<double>> by_block;  // also of blocks that are not judged
  std::set<unsigned> disturbed_blocks;
  bool too_few_operations = false;
  double disturbed_share = 0;  // of all its repetitions
  double unproven_share = 0;   // the worst of its runs
  std::set<bool> cold_names;   // results::names_are_cold() of its runs
};

Gathered gather(const Side& side, const std::vector<Found>& points, const std::string& metric, const Design& design) {
  Gathered g;
  double disturbed = 0, repetitions = 0;
  for (const auto& [run, point] : points) {
    const StoredMetric* found = point->find(metric);
    if (found == nullptr) continue;
    const unsigned number = design.interleaved ? side.blocks[run] : 0;
    if (design.interleaved) {
      auto& block = g.by_block[number];
      block.insert(block.end(), found->values.begin(), found->values.end());
      if (point->disturbed_share > 0) g.disturbed_blocks.insert(number);
      if (design.look > 0 && number > design.last_judged) continue;
    }
    // Disturbances of interleaved blocks hit both sides: their spread reports them.
    const std::vector<double> values = design.interleaved ? found->values : undisturbed(*point, *found);
    g.values.insert(g.values.end(), values.begin(), values.end());
    g.too_few_operations |= found->too_few_operations;
    disturbed += point->disturbed_share * point->repetitions;
    repetitions += point->repetitions;
    g.unproven_share = std::max(g.unproven_share, point->cache_unproven_share);
    if (const std::optional<bool> cold = results::names_are_cold(*point)) g.cold_names.insert(*cold);
  }
  if (repetitions > 0) g.disturbed_share = disturbed / repetitions;
  return g;
}

/// The blocks that both sides finished.
std::vector<Block> blocks_of(const Gathered& a, const Gathered& b, const Design& design) {
  std::vector<Block> blocks;
  for (const auto& [number, base] : a.by_block) {
    const auto other = b.by_block.find(number);
    if (other == b.by_block.end() || base.empty() || other->second.empty()) continue;
    blocks.push_back({number, statistics::median(base), statistics::median(other->second),
                      a.disturbed_blocks.count(number) + b.disturbed_blocks.count(number) > 0,
                      design.look > 0 && number <= design.last_judged});
  }
  return blocks;
}

double geometric_mean(std::span<const double> values) {
  double logs = 0;
  for (const double v : values) logs += std::log(v) / static_cast<double>(values.size());
  return std::exp(logs);
}

/// Names that were in memory may be all of the difference from a run that dropped them.
bool names_differ(const Gathered& a, const Gathered& b) {
  return !a.cold_names.empty() && !b.cold_names.empty() && (a.cold_names != b.cold_names || a.cold_names.size() > 1);
}

/// Why the metric allows no conclusion, regardless of its values. A disturbance of both sides of interleaved blocks is
/// part of their conditions: their spread reports it.
Reason doubt(const Gathered& a, const Gathered& b, const Design& design) {
  if (std::max(a.unproven_share, b.unproven_share) > 0 || names_differ(a, b)) return Reason::cache_unproven;
  if (a.too_few_operations || b.too_few_operations) return Reason::few_ops;
  const double disturbed = design.interleaved ? std::abs(a.disturbed_share - b.disturbed_share)
                                              : std::max(a.disturbed_share, b.disturbed_share);
  if (disturbed > kTolerated) return Reason::disturbed;
  return Reason::none;
}

Values values_of(const std::vector<double>& values) {
  Values v;
  v.values = values;
  if (values.empty()) return v;
  const auto interval = statistics::median_interval(values);
  v.typical = v.median = statistics::median(values);
  v.low = interval.low;
  v.high = interval.high;
  return v;
}

/// A change within the system's own noise is none. That floor is of the first look; more blocks see through half of its
/// variance.
bool within_noise(const Row& row, const Design& design) {
  if (!row.noise_floor || !row.estimate || !is_changed(row.change)) return false;
  const double looks = static_cast<double>(std::max(design.look, statistics::kFirstLook)) / statistics::kFirstLook;
  return std::abs(std::log(row.estimate->ratio)) <= std::log1p(*row.noise_floor) / std::sqrt(looks);
}

bool is_two_humped(const Row& row) {
  double below = 0, above = 0;
  return statistics::two_humped(row.base.values, &below, &above) ||
         statistics::two_humped(row.other.values, &below, &above);
}

/// The direction of two values that differ.
Change direction(const Row& row) {
  if (row.better == Better::neither) return Change::differs;
  return (row.other.typical > row.base.typical) == (row.better == Better::higher) ? Change::better : Change::worse;
}

/// Data that is read, not measured: reported exactly. Counts (cores) are equal or not. Sizes change by the minute (free
/// space), so that less than delta does not matter.
void judge_fact(Row& row) {
  if (row.unit == "count") row.delta = 0;
  row.significant = true;
  const double a = row.base.typical, b = row.other.typical;
  if (a > 0 && b > 0) {
    row.estimate = statistics::compare_facts(a, b);
    row.change = statistics::classify(*row.estimate, row.delta, row.better);
  } else {
    row.change = a == b ? Change::same : direction(row);
  }
}

/// Fills in the estimate and the typical value of both sides. For blocks it is the geometric mean, so that the change
/// is exactly B's value over A's.
void estimate_blocks(const Design& design, Row& row) {
  std::vector<double> base, other;
  for (const Block& block : row.blocks) {
    if (design.look > 0 && !block.judged) continue;
    base.push_back(block.base);
    other.push_back(block.other);
  }
  row.estimate = statistics::compare_blocks(base, other, design.level);
  if (base.empty()) return;
  row.base.typical = geometric_mean(base);
  row.other.typical = geometric_mean(other);
  row.callable = design.look > 0 && base.size() == design.look;  // every block of the look
}

void judge_measured(const Gathered& a, const Gathered& b, const Design& design,
                    const statistics::SessionSpread& history, Row& row) {
  if (design.interleaved) {
    estimate_blocks(design, row);
  } else {
    row.estimate = statistics::compare_stored(row.base.values, row.other.values, history, design.level);
    row.callable = true;
  }
  row.reason = doubt(a, b, design);
  if (row.reason == Reason::none && !(row.estimate && row.callable)) row.reason = Reason::few_reps;
  row.callable = row.reason == Reason::none;
  if (!row.callable) return;
  row.change = statistics::classify(*row.estimate, row.delta, row.better);
  if (within_noise(row, design)) {
    row.within_noise = true;
    row.change = Change::inconclusive;
    row.reason = Reason::straddles;
  }
  if (row.change != Change::inconclusive || row.within_noise) return;
  const bool humps = is_two_humped(row);
  row.reason = humps ? Reason::two_humped : Reason::straddles;
  if (humps || design.interleaved || history.sessions > 0) return;
  // Would it have been decided, if sessions did not differ?
  const auto alone = statistics::compare_stored(row.base.values, row.other.values, statistics::kNoSpread, design.level);
  if (statistics::classify(*alone, row.delta, row.better) != Change::inconclusive) row.reason = Reason::single_session;
}

double least(const Gathered& a, const Gathered& b) {
  return std::min(*std::ranges::min_element(a.values), *std::ranges::min_element(b.values));
}

constexpr std::size_t kFewestForRanks = 5;

/// Bounds of the median, by ranks: these need no logarithms. Of 2 to 4 values all must agree; one has none.
statistics::Bounds bounds_by_rank(const std::vector<double>& values) {
  static const statistics::LookPlan plan = statistics::plan_looks({kFewestForRanks, 10, 15});
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (values.size() > 1 && (values.size() < kFewestForRanks || *low == *high)) return {*low, *high, 1};
  return statistics::order_bounds(values, statistics::rank_for(plan, values.size()));
}

/// A side with 0 is worse, or better, than one with more, where the median of both agrees.
void judge_without_ratio(const Gathered& a, const Gathered& b, const Design& design, Row& row) {
  row.reason = doubt(a, b, design);
  if (row.reason != Reason::none) return;
  const statistics::Bounds base = bounds_by_rank(a.values), other = bounds_by_rank(b.values);
  if (base.low == 0 && base.high == 0 && other.low == 0 && other.high == 0) {
    row.change = Change::same;
  } else if ((base.high <= 0 && other.low > 0) || (other.high <= 0 && base.low > 0)) {
    row.change = direction(row);
    row.significant = true;
  } else {
    const bool few = std::min(a.values.size(), b.values.size()) < kFewestForRanks;
    row.reason = few ? Reason::few_reps : is_two_humped(row) ? Reason::two_humped : Reason::straddles;
  }
}

}  // namespace

bool is_changed(Change change) {
  return change == Change::worse || change == Change::better || change == Change::differs;
}

bool is_evidence(const StoredPoint& point) {
  return point.cache_unproven_share == 0 && point.disturbed_share <= kTolerated;
}

JudgedRow judge_row(const Joined& joined, const Side& base, const Side& other, const StoredMetric& metric,
                    const RowContext& context) {
  const Design& design = context.all->design;
  const StoredPoint& point = joined.base_point();
  const Gathered a = gather(base, joined.base, metric.name, design),
                 b = gather(other, joined.other, metric.name, design);
  if (a.values.empty() || b.values.empty())
    return {{}, a.values.empty() ? base.label : other.label, "no repetition gave a value"};
  Row row;
  row.workload = point.workload;
  row.base_point = point.id;
  row.other_point = joined.other_point().id;
  row.params = point.params;
  row.metric = metric.name;
  row.unit = metric.unit;
  row.description = metric.description;
  row.better = metric.better;
  row.gated = context.options->gates.selects(base.first(), point, metric.name);
  row.delta = delta_of(metric.name, context.options->delta_rate, context.options->delta_tail);
  row.base = values_of(a.values);
  row.other = values_of(b.values);
  row.fact = point.deterministic && joined.other_point().deterministic;
  if (row.fact) {
    judge_fact(row);
    return {std::move(row), "", ""};
  }
  row.noise_floor = context.noise_floor;
  row.names_differ = names_differ(a, b);
  if (least(a, b) < 0) return {{}, "", "a value below 0 has no ratio"};
  if (least(a, b) == 0) {
    judge_without_ratio(a, b, design, row);
    return {std::move(row), "", ""};
  }
  row.blocks = blocks_of(a, b, design);
  judge_measured(a, b, design, context.history, row);
  if (row.estimate && !std::isfinite(row.estimate->ratio)) return {{}, "", "its values lie too far apart for a ratio"};
  return {std::move(row), "", ""};
}

}  // namespace headrace::comparison
