// Rules of a benchmark for a rehearsal: which ones the plan keeps, before anything runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/job/job.h"

namespace headrace {

/// One rule, whether it is kept, the required and the actual value.
struct RuleCheck {
  std::string rule;  // "steps"
  bool kept = false;
  std::string reported;  // "500 steps or more: 64"
};

/// The rules for training that versions 2.0 and 3.0 of MLPerf Storage share. Source: github.com/mlcommons/storage,
/// Submission_guidelines.md of 2.0; README.md, Rules.md and training/README.md of 3.0.
namespace benchmark_rules {
inline constexpr double kFewestSteps = 500, kMemoryMultiple = 5, kRuns = 5, kReplicated = 0.05, kMostPrefetch = 2;
}  // namespace benchmark_rules

/// "mlperf-v2, mlperf-v3"
std::string rules_names();

/// Throws UsageError, with the names that there are, when `name` is none.
void check_rules_name(const std::string& name);

/// The parameters of a rehearsal.
struct RehearsedAs {
  double batch = 0, step_s = 0;  // samples of a GPU's step, and its compute time
  double data_bytes = 0;         // that the workers read
  double host_memory = 0;        // of this node [B]
};

/// The rules of `name` that the plan alone decides. They are the benchmark's own workload with results, whole batches,
/// the read-ahead, and a data set larger than memory.
std::vector<RuleCheck> check_planned(const std::string& name, const job::Job& job, const RehearsedAs& as);

}  // namespace headrace
