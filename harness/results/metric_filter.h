// Which of a run's metrics are looked at: gates of comparisons, metrics that fleets and histories follow.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/results/run_file.h"

namespace headrace::results {

/// Globs on "workload.metric" and "point.metric". None: the metrics that the run's needs were judged by; without
/// needs, each point's first.
class MetricFilter {
 public:
  MetricFilter() = default;
  MetricFilter(std::vector<std::string> globs) : globs_(std::move(globs)) {}
  MetricFilter(std::initializer_list<std::string> globs) : globs_(globs) {}

  const std::vector<std::string>& globs() const { return globs_; }

  /// Does it choose this metric of a point that `run` has, or has the like of?
  bool selects(const StoredRun& run, const StoredPoint& point, std::string_view metric) const;
  /// Any of the point's metrics?
  bool selects_any(const StoredRun& run, const StoredPoint& point) const;

 private:
  std::vector<std::string> globs_;
};

}  // namespace headrace::results
