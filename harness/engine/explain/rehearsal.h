// The result of a rehearsal of a job's input pipeline: how busy the GPUs are, their limit and its proof. Also how well
// separate measurements had predicted it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/engine/explain/limit_proof.h"
#include "harness/engine/run_result.h"

namespace headrace::engine {

/// Samples per second of GPUs that never wait, of that many nodes: A1 of the pipeline's parameters.
double taken_by(const Point& whole, double nodes);

/// The loader's rates in the counter-experiments, as far as they were measured. `whole`: the job's own pipeline.
LoaderRates loader_rates(const std::vector<PointResult>& points, const PointResult& whole);

/// The rehearsal of a plan that is one and whose whole pipeline was measured; nothing else.
std::optional<Rehearsal> rehearsal_of(const Plan& plan, const std::vector<PointResult>& points);

/// As people read it: a sentence each.
std::vector<std::string> describe(const Rehearsal& rehearsal);

/// All that a run reports on its rehearsal, and of the rules that it was compared with.
std::vector<std::string> describe_rehearsal(const RunResult& run);

}  // namespace headrace::engine
