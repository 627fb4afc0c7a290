// Collectives that were measured at several sizes: latency and bandwidth fitted, and what they mean
// for the job.
#pragma once

#include <vector>

#include "harness/plan.h"
#include "harness/run_result.h"

namespace headrace::engine {

/// Adds a note to the largest size of each collective with at least three sizes. Collectives are
/// known by their metrics: busbw, algbw and time_s.
void tell_of_fits(const Plan& plan, std::vector<PointResult>& points);

}  // namespace headrace::engine
