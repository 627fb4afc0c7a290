// The summary of each metric over a point's repetitions, and the part of it for judging.
#pragma once

#include <span>
#include <vector>

#include "harness/engine/run_result.h"
#include "harness/judge/verdict/record.h"
#include "harness/workload/registry.h"

namespace headrace::engine {

/// The record of a point before anything was measured.
PointResult unmeasured(const Point& point);

/// Fills `result.metrics` and `result.single_run` from the repetitions that count, in the
/// catalogue's order.
void summarize_metrics(std::span<const MetricInfo> catalogue, PointResult& result);

/// Parts of the machine that its repetitions, its preparation or its data check found broken.
std::vector<PartFault> faults_of(const PointResult& result);

/// The part that judgements may use: exactly the content of the run's file.
judging::RecordedPoint recorded(const PointResult& result);
/// The same of one repetition, whether it has just ended or was read back.
judging::RecordedRepetition recorded(const Repetition& repetition);
std::vector<judging::RecordedPoint> recorded(std::span<const PointResult> points);

}  // namespace headrace::engine
