#include "harness/engine/rules_kept.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headrace::engine {
namespace {

std::vector<double> values(const PointResult& point, std::string_view name) {
  for (const MetricSummary& m : point.metrics)
    if (m.name == name) return m.values;
  return {};
}

std::string percent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

}  // namespace

std::vector<RuleCheck> check_measured(const PointResult& whole, double asked) {
  using namespace benchmark_rules;
  const std::vector<double> steps = values(whole, "steps"), utilization = values(whole, "accelerator_utilization");
  // The first one, which is not among the steps that are counted, is the benchmark's, too.
  const double fewest = steps.empty() ? 0 : 1 + *std::min_element(steps.begin(), steps.end());
  const auto cold = static_cast<double>(std::ranges::count_if(
      whole.repetitions, [](const Repetition& r) { return r.counted && r.cache.required && r.cache.proven; }));
  const auto runs = static_cast<double>(utilization.size());
  double mean = 0, furthest = 0;
  if (!utilization.empty()) {
    mean = std::accumulate(utilization.begin(), utilization.end(), 0.0) / runs;
    for (const double u : utilization) furthest = std::max(furthest, std::abs(u - mean) / mean);
  }
  return {
      {"steps", fewest >= kFewestSteps, fmt::format("{:.0f} steps or more in each run: {:.0f}", kFewestSteps, fewest)},
      {"runs", runs >= kRuns, fmt::format("{:.0f} runs one after the other: {:.0f}", kRuns, runs)},
      {"caches", runs > 0 && cold >= runs,
       fmt::format("nothing comes from this host's memory: proven of {:.0f} of {:.0f} runs", cold, runs)},
      {"utilization", runs > 0 && mean >= asked,
       fmt::format("a mean utilization of {}: {}", percent(asked), percent(mean))},
      {"replicated", runs > 1 && furthest <= kReplicated,
       fmt::format("runs within {} of their mean: within {}", percent(kReplicated), percent(furthest))}};
}

}  // namespace headrace::engine
