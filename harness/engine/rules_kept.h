// What a rehearsal that ran keeps of a benchmark's rules.
#pragma once

#include <vector>

#include "harness/engine/run_result.h"
#include "harness/plan/benchmark_rules.h"

namespace headrace::engine {

/// The rules that only measuring decides, of the repetitions of the whole pipeline that count: steps, runs, cold caches, the
/// mean utilization against `asked`, and whether every run repeats it.
std::vector<RuleCheck> check_measured(const PointResult& whole, double asked);

}  // namespace headrace::engine
