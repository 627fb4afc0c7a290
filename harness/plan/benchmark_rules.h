// Rules of a benchmark that a rehearsal is held against: what of them the plan keeps, before anything runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/requirements/job.h"

namespace headrace {

/// One rule, whether it is kept, and what was asked and what there is.
struct RuleCheck {
  std::string rule;  // "steps"
  bool kept = false;
  std::string told;  // "500 steps or more: 64"
};

/// Of MLPerf Storage's rules for training, version 2.0 (github.com/mlcommons/storage, Submission_guidelines.md).
namespace benchmark_rules {
inline constexpr const char* kMlperf2 = "mlperf-v2";
inline constexpr double kFewestSteps = 500, kMemoryMultiple = 5, kRuns = 5, kReplicated = 0.05;
}  // namespace benchmark_rules

/// Throws UsageError, with the names that there are, when `name` is none.
void check_rules_name(const std::string& name);

/// What a rehearsal is run with.
struct RehearsedAs {
  double batch = 0, step_s = 0;  // samples of a GPU's step, and its compute time
  double data_bytes = 0;         // that the workers read
  double host_memory = 0;        // of this node [B]
};

/// The rules that the plan alone decides: the benchmark's own workload, whole batches, a data set that memory cannot hold.
std::vector<RuleCheck> check_planned(const requirements::Job& job, const RehearsedAs& as);

}  // namespace headrace
