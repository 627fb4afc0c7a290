// Rules of a benchmark that a rehearsal is compared with: what of them the plan keeps, before anything runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/job/job.h"

namespace headrace {

/// One rule, whether it is kept, and what was asked and what there is.
struct RuleCheck {
  std::string rule;  // "steps"
  bool kept = false;
  std::string reported;  // "500 steps or more: 64"
};

/// Of MLPerf Storage's rules for training what versions 2.0 and 3.0 have in common (github.com/mlcommons/storage: of 2.0
/// Submission_guidelines.md, of 3.0 README.md, Rules.md and training/README.md).
namespace benchmark_rules {
inline constexpr double kFewestSteps = 500, kMemoryMultiple = 5, kRuns = 5, kReplicated = 0.05, kMostPrefetch = 2;
}  // namespace benchmark_rules

/// "mlperf-v2, mlperf-v3"
std::string rules_names();

/// Throws UsageError, with the names that there are, when `name` is none.
void check_rules_name(const std::string& name);

/// What a rehearsal is run with.
struct RehearsedAs {
  double batch = 0, step_s = 0;  // samples of a GPU's step, and its compute time
  double data_bytes = 0;         // that the workers read
  double host_memory = 0;        // of this node [B]
};

/// Of the rules `name` those that the plan alone decides: the benchmark's own workload, one that results are taken of, whole
/// batches, how many are read ahead, a data set that memory cannot hold.
std::vector<RuleCheck> check_planned(const std::string& name, const job::Job& job, const RehearsedAs& as);

}  // namespace headrace
