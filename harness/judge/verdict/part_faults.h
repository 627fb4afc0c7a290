// Counts of which one occurrence is a fault (harness/record/fault_counts.h), as judgements: absolutely. Neither other
// programs nor later repetitions nor a point that failed afterwards cancel an occurrence.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/judge/verdict/record.h"
#include "harness/judge/verdict/verdict.h"

namespace headrace::judging {

/// The id of judge_faults(); the scope is the part: "gpu3".
inline constexpr std::string_view kPartFault = "gpu.fault";

/// Is it decided by such a count?
bool is_count(const Judgement& j);

/// A FAIL for each broken part of the machine, whether a need asks for it or not.
std::vector<Judgement> judge_faults(std::span<const RecordedPoint> points);

/// The most that any repetition of `point` counted, or its data check found; nothing: it counted nothing.
std::optional<double> most_counted(const RecordedPoint& point, std::string_view metric);

/// For a need whose metric is such a count: by the largest count. `j` has id, need, point and metric. Fills outcome,
/// measured, bounds, repetitions, explanation and next_step.
void judge_count(const RecordedPoint& point, std::string_view metric, Judgement& j);

/// For Question::worst_over: each point has to meet the need, so the worst answers.
inline constexpr std::string_view kEveryPoint = "*";

/// For a missed need: the devices whose own values miss it, where others meet it.
void name_devices(const RecordedPoint& point, std::string_view metric, Judgement& j);

}  // namespace headrace::judging
