#include "harness/results/pair_metrics.h"

#include <algorithm>
#include <map>

#include "harness/base/median.h"

namespace headrace::results {
namespace {

constexpr std::size_t kEachPair = 64;  // ends; of more it would be thousands of metrics

constexpr std::string_view kRate = "rate of ", kSlowest = "slowest pair of ";

/// A value a repetition.
using Values = std::map<std::string, std::vector<double>>;

void add(const RatedPairs& pairs, Values& values) {
  std::vector<std::vector<double>> of(pairs.names.size());
  for (const RatedPairs::One& one : pairs.all) {
    of[one.a].push_back(one.rate);
    of[one.b].push_back(one.rate);
  }
  std::vector<double> best;
  for (const std::vector<double>& rates : of)
    if (!rates.empty()) best.push_back(*std::max_element(rates.begin(), rates.end()));
  if (best.size() < 2) return;
  const double reference = pairs.usual > 0 ? pairs.usual : statistics::median(best);
  if (reference <= 0) return;
  const bool each = pairs.names.size() <= kEachPair;
  for (std::size_t end = 0; end < of.size(); ++end) {
    if (of[end].empty()) continue;
    if (!each)
      values[std::string(kSlowest) + pairs.names[end]].push_back(*std::min_element(of[end].begin(), of[end].end()) /
                                                                 reference);
    values[std::string(kRate) + pairs.names[end]].push_back(statistics::median(of[end]) / reference);
  }
  if (!each) return;
  std::map<std::pair<unsigned, unsigned>, std::vector<double>> met;  // some meet more often
  for (const RatedPairs::One& one : pairs.all)
    met[{std::min(one.a, one.b), std::max(one.a, one.b)}].push_back(one.rate);
  for (auto& [ends, rates] : met)
    values[std::string(kRate) + pairs.names[ends.first] + " and " + pairs.names[ends.second]].push_back(
        statistics::median(rates) / reference);
}

/// The pairs of each rail of a matrix.
void add_rails(const PairMatrix& matrix, std::vector<RatedPairs>& all) {
  const std::size_t ends = matrix.ends_of_rail();
  for (std::size_t first = 0; ends > 0 && first < matrix.names.size(); first += ends) {
    RatedPairs& rail = all.emplace_back();
    const auto from = matrix.names.begin() + static_cast<std::ptrdiff_t>(first);
    rail.names.assign(from, from + static_cast<std::ptrdiff_t>(ends));
    for (unsigned a = 0; a < ends; ++a)
      for (unsigned b = a + 1; b < ends; ++b) {
        const double there = matrix.rate[first + a][first + b], back = matrix.rate[first + b][first + a];
        if (there < 0 && back < 0) continue;
        rail.all.push_back({a, b, there < 0 || back < 0 ? std::max(there, back) : std::min(there, back)});
      }
  }
}

}  // namespace

bool is_pair_metric(std::string_view metric) { return metric.starts_with(kRate) || metric.starts_with(kSlowest); }

void summarize_range(StoredMetric& metric) {
  metric.median = statistics::median(metric.values);
  const auto [low, high] = std::minmax_element(metric.values.begin(), metric.values.end());
  metric.low = *low;
  metric.high = *high;
  metric.is_range = true;
}

std::vector<StoredMetric> pair_metrics(const std::vector<RatedPairs>& repetitions) {
  Values values;
  for (const RatedPairs& one : repetitions) add(one, values);
  std::vector<StoredMetric> metrics;
  for (auto& [name, of] : values) {
    StoredMetric& metric = metrics.emplace_back();
    metric.name = name;
    metric.unit = "ratio";
    metric.description = repetitions.front().usual > 0 ? "a share of the usual rate"
                                                       : "a share of the middle node's rate with its best partner";
    metric.values = std::move(of);
    summarize_range(metric);
  }
  return metrics;
}

void add_pair_metrics(StoredRun& run) {
  for (StoredPoint& point : run.points) {
    std::vector<RatedPairs> repetitions;
    for (const PairMatrix& one : point.pairs_each) add_rails(one, repetitions);
    if (repetitions.empty() && point.pairs) add_rails(*point.pairs, repetitions);
    for (StoredMetric& metric : pair_metrics(repetitions)) point.metrics.push_back(std::move(metric));
  }
}

}  // namespace headrace::results
