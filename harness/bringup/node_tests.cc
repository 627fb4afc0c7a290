#include "harness/bringup/node_tests.h"

#include <algorithm>
#include <cmath>

#include "harness/results/metric_filter.h"
#include "harness/results/metric_key.h"

namespace headrace::bringup {
namespace {

using results::StoredPoint;
using results::StoredRun;

std::size_t place_of(NodeTests& tests, const TestedMetric& metric) {
  const auto same = [&](const TestedMetric& one) {
    return one.point == metric.point && one.metric == metric.metric && one.unit == metric.unit &&
           one.params == metric.params;
  };
  const auto at = std::find_if(tests.metrics.begin(), tests.metrics.end(), same);
  if (at != tests.metrics.end()) return static_cast<std::size_t>(at - tests.metrics.begin());
  tests.metrics.push_back(metric);
  return tests.metrics.size() - 1;
}

}  // namespace

TestedNode& NodeTests::of(unsigned node) {
  const auto at = std::find_if(nodes.begin(), nodes.end(), [&](const TestedNode& one) { return one.node == node; });
  if (at != nodes.end()) return *at;
  nodes.emplace_back().node = node;
  return nodes.back();
}

void add_run(NodeTests& tests, unsigned node, const StoredRun& run) {
  const results::MetricFilter first;
  StoredRun unasked = run;  // needs choose other metrics than those that all nodes have
  unasked.judgements.clear();
  TestedNode& tested = tests.of(node);
  std::size_t repetitions = 0;
  double disturbed = 0;
  for (const StoredPoint& point : run.points) {
    bool told = false;
    for (const results::StoredMetric& metric : point.metrics) {
      if (metric.values.empty() || metric.better == Better::neither || !std::isfinite(metric.median) ||
          !first.selects(unasked, point, metric.name) || point.cache_unproven_share > 0)
        continue;
      const results::UnitScale scale = results::unit_scale(metric.unit);
      const std::size_t place = place_of(
          tests, {point.workload, point.id, metric.name, scale.base, metric.description, point.params, metric.better});
      if (tested.values.size() <= place) tested.values.resize(place + 1);
      tested.values[place] = metric.median * scale.factor;
      told = true;
    }
    repetitions += point.repetitions;
    disturbed += point.disturbed_share * point.repetitions;
    const bool ill = point.status != "ok";
    if (!told && (ill || point.cache_unproven_share > 0))
      tested.without[point.id] = ill ? point.status + ": " + point.reason : "what the cache held is not proven";
  }
  if (repetitions > 0) tested.disturbed = std::max(tested.disturbed, disturbed / static_cast<double>(repetitions));
}

void add_failure(NodeTests& tests, unsigned node, const std::string& why) {
  std::string& known = tests.of(node).without[""];
  known += (known.empty() ? "" : "; ") + why;
}

}  // namespace headrace::bringup
