// What a point's repetitions say of one metric: summaries, and the evidence for judging.
#pragma once

#include <span>
#include <string_view>

#include "harness/registry.h"
#include "harness/run_result.h"
#include "harness/verdict.h"

namespace headrace::engine {

/// Fills `result.metrics` from the repetitions that count, in the catalogue's order.
void summarize_metrics(std::span<const MetricInfo> catalogue, PointResult& result);

/// Rank, shares of unproven, disturbed and not steady repetitions with the first reason, single
/// run. `values`, of a metric in `unit`, are the caller's to keep.
Evidence gather(const PointResult& result, std::string_view unit, std::span<const double> values);

}  // namespace headrace::engine
