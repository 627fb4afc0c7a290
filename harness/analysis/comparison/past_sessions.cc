#include "harness/analysis/comparison/past_sessions.h"

#include "harness/analysis/comparison/fingerprint_difference.h"
#include "harness/analysis/comparison/row_judging.h"

namespace headrace::comparison {

PastSessions::PastSessions(const results::StoredRun& base, std::span<const results::StoredRun> history,
                           std::span<const std::string> across) {
  std::vector<const results::StoredRun*> runs;
  for (const results::StoredRun& run : history)
    if (run.config_hash == base.config_hash && same_fingerprint(run, base)) runs.push_back(&run);
  points_ = index_points(runs, across);
}

statistics::SessionSpread PastSessions::of(const results::PointKey& point, const std::string& metric,
                                           double (*gave)(const results::StoredMetric&)) const {
  std::vector<double> values;
  if (const auto found = points_.find(point); found != points_.end())
    for (const Found& past : found->second)
      if (const results::StoredMetric* m = past.point->find(metric);
          m && !m->values.empty() && is_evidence(*past.point))
        values.push_back(gave(*m));
  return statistics::session_spread(values);
}

}  // namespace headrace::comparison
