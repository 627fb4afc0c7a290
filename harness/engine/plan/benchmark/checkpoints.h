// A benchmark's checkpoints: their benchmark, and the rules that the plan keeps.
#pragma once

#include <string>
#include <vector>

#include "harness/engine/plan/benchmark/rules.h"
#include "harness/engine/plan/benchmark/workloads.h"
#include "harness/job/job.h"

namespace headrace {

/// The rules for checkpoints that versions 2.0 and 3.0 of MLPerf Storage share. The sources are those of the rules for
/// training; for 3.0, section 4.
namespace benchmark_rules {
inline constexpr double kCheckpoints = 10, kFewestOnHost = 5, kRanksOfOneHost = 8;
}  // namespace benchmark_rules

/// The benchmark's model that the job saves; nullptr: it saves nothing, or another one.
const BenchmarkModel* benchmark_model(const std::string& rules, const job::Job& job);

/// Ranks that save, and their hosts.
struct SavedBy {
  double hosts = 1, ranks_on_host = 0;
};

/// Bytes that those ranks save together, by the benchmark's size of `model`.
double bytes_saved(const BenchmarkModel& model, const SavedBy& by);

/// The rules that the plan alone decides: the benchmark's size and sharding, the number of ranks, enough per host. The
/// job saves one of the benchmark's models.
std::vector<RuleCheck> check_planned_saves(const std::string& rules, const job::Job& job, const SavedBy& by);

}  // namespace headrace
