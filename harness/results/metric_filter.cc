#include "harness/results/metric_filter.h"

#include <algorithm>

#include "harness/base/glob.h"
#include "harness/judge/verdict/slow_parts.h"

namespace headrace::results {

bool MetricFilter::selects(const StoredRun& run, const StoredPoint& point, std::string_view metric) const {
  const std::string of_workload = point.workload + "." + std::string(metric);
  const std::string of_point = point.id + "." + std::string(metric);
  if (!globs_.empty())
    return std::any_of(globs_.begin(), globs_.end(), [&](const std::string& glob) {
      return glob_match(glob, of_workload) || glob_match(glob, of_point);
    });
  bool any_need = false;
  for (const Judgement& need : run.judgements) {
    if (need.point.empty() || judging::of_a_part(need)) continue;
    any_need = true;
    if (need.point == point.id && need.metric == of_workload) return true;
  }
  return !any_need && !point.metrics.empty() && point.metrics.front().name == metric;
}

bool MetricFilter::selects_any(const StoredRun& run, const StoredPoint& point) const {
  return std::any_of(point.metrics.begin(), point.metrics.end(),
                     [&](const StoredMetric& m) { return selects(run, point, m.name); });
}

}  // namespace headrace::results
