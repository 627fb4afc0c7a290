// A short, untimed run of a workload, for finding its settings.
#pragma once

#include <cstdint>

#include "harness/record/histogram.h"
#include "harness/workload.h"

namespace headrace {

struct Trial {
  bool failed = false;  // a worker threw, or an operation failed
  double elapsed_s = 0;
  std::uint64_t bytes = 0, operations = 0;
  Histogram latency;

  double bytes_per_s() const { return rate(bytes); }
  double operations_per_s() const { return rate(operations); }

 private:
  double rate(std::uint64_t n) const { return failed || elapsed_s <= 0 ? 0 : static_cast<double>(n) / elapsed_s; }
};

/// Runs the first phase of `workload`, for at most `seconds`.
Trial run_trial(Workload& workload, double seconds);

}  // namespace headrace
