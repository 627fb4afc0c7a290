// Google Benchmark as the engine: each repetition is one benchmark repetition of one iteration with
// manual time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/record/metric.h"

namespace headrace::engine {

/// The values that one call of the body gives to Google Benchmark.
struct Sample {
  double elapsed_s = 0;
  std::vector<MetricValue> values;  // finite; passed as plain counters under prefixed names
  std::string error;                // not "": the repetition is reported as failed
};

/// The results of Google Benchmark's reporter.
struct DriverReport {
  unsigned repetitions = 0, errors = 0;
};

/// Runs `body` `repetitions` times under the benchmark name `name`. The body does not throw. Prints
/// nothing. A value that is not finite, or a report that does not hold every repetition, is our own
/// bug: aborts.
DriverReport drive(const std::string& name, unsigned repetitions, const std::function<Sample()>& body);

}  // namespace headrace::engine
