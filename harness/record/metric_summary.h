// One metric over the repetitions of a point that count.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/record/metric.h"

namespace headrace {

/// As a run reports it and as its file holds it.
struct MetricSummary {
  std::string name, unit, description;
  Better better = Better::higher;
  double median = 0;
  double low = 0, high = 0;  // bounds of shown()
  bool is_range = false;     // too few values for bounds: `low` and `high` are the smallest and the largest
  std::vector<double> values;
  bool too_few_operations = false;       // a percentile with fewer than 10/(1-p) operations per repetition
  std::optional<double> mean_over_time;  // of a rate: total work over total time

  /// The value for readers, the same everywhere: of a rate the mean over time, else the median.
  double shown() const { return mean_over_time.value_or(median); }
};

}  // namespace headrace
