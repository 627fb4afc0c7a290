#include "harness/bringup/tests/node_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "harness/judge/expectations/hold.h"
#include "harness/judge/verdict/part_faults.h"
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

/// Metrics of all devices, or of one of them.
bool counts_faults(std::string_view metric) {
  return std::any_of(std::begin(kFaultCounts), std::end(kFaultCounts), [&](const FaultCount& one) {
    return metric == one.name || metric.starts_with(std::string(one.name) + "_");
  });
}

/// Rates and shares of proven points. Latencies have a tail of their own, times are given by the repetition, and counts
/// of errors are judged absolutely.
bool is_compared(const StoredPoint& point, const results::StoredMetric& metric) {
  const bool time =
      metric.name.find("latency_") != metric.name.npos || metric.name == "elapsed_s" || metric.name == "cpu_s";
  const bool first = &metric == &point.metrics.front();
  return !metric.values.empty() && metric.better != Better::neither && std::isfinite(metric.shown()) &&
         point.cache_unproven_share == 0 && (first || !time) && !counts_faults(metric.name);
}

void add_faults(TestedNode& tested, const StoredRun& run) {
  for (const Judgement& j : run.judgements)
    if (j.id == judging::kPartFault && j.outcome == Outcome::fail)
      tested.faults.push_back({j.scope, j.explanation, j.next_step});
  if (!tested.faults.empty()) return;
  // A run that judged nothing of that kind itself.
  for (const StoredPoint& point : run.points)
    for (const results::StoredMetric& metric : point.metrics) {
      const FaultCount* const count = find_fault_count(metric.name);
      const double most = metric.values.empty() ? 0 : *std::max_element(metric.values.begin(), metric.values.end());
      if (count != nullptr && count->always && most > 0)
        tested.faults.push_back({point.id, fmt::format("{} of {}: {:g}; one is a fault", metric.name, point.id, most),
                                 std::string(count->fix)});
    }
}

/// A run that may use a part of its machine's processors cannot show the rate of all of its memory.
bool can_be_expected(const StoredRun& run, const results::StoredExpected& one) {
  const auto number = [&](const char* key) {
    const auto at = run.environment.find(key);
    return at == run.environment.end() ? 0 : std::atoi(at->second.c_str());
  };
  return one.part_kind != "memory" || number("cpu.usable") >= number("cpu.threads");
}

}  // namespace

TestedNode& NodeTests::of(unsigned node) {
  const auto at = std::find_if(nodes.begin(), nodes.end(), [&](const TestedNode& one) { return one.node == node; });
  if (at != nodes.end()) return *at;
  nodes.emplace_back().node = node;
  return nodes.back();
}

void add_run(NodeTests& tests, unsigned node, const StoredRun& run) {
  TestedNode& tested = tests.of(node);
  std::size_t repetitions = 0;
  double disturbed = 0;
  for (const StoredPoint& point : run.points) {
    bool reported = false;
    for (const results::StoredMetric& metric : point.metrics) {
      if (!is_compared(point, metric)) continue;
      const results::UnitScale scale = results::unit_scale(metric.unit);
      const std::size_t place = place_of(tests, {point.workload, point.id, metric.name, scale.base, metric.description,
                                                 point.params, metric.better, &metric == &point.metrics.front()});
      if (tested.values.size() <= place) tested.values.resize(place + 1);
      tested.values[place] = metric.shown() * scale.factor;
      reported = reported || &metric == &point.metrics.front();
    }
    repetitions += point.repetitions;
    disturbed += point.disturbed_share * point.repetitions;
    const bool ill = point.status != "ok";
    if (!reported && (ill || point.cache_unproven_share > 0))
      tested.without[point.id] = ill ? point.status + ": " + point.reason : "the state of the cache is not proven";
  }
  if (repetitions > 0) tested.disturbed = std::max(tested.disturbed, disturbed / static_cast<double>(repetitions));
  add_faults(tested, run);
  for (const results::StoredExpected& one : run.expected)
    if (one.standing == expectations::to_string(expectations::Standing::far_below) && can_be_expected(run, one))
      tested.far_below[one.point + "." + one.metric] = one.reported;
}

void add_failure(NodeTests& tests, unsigned node, const std::string& why) {
  std::string& known = tests.of(node).without[""];
  known += (known.empty() ? "" : "; ") + why;
}

}  // namespace headrace::bringup
