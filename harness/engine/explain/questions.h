// A plan's questions to the measurements.
#pragma once

#include <span>
#include <vector>

#include "harness/engine/plan/plan.h"
#include "harness/judge/verdict/answers.h"

namespace headrace::engine {

/// In the plan's order; informative needs are left out.
std::vector<judging::Question> questions(const Plan& plan, unsigned nodes = 1);

/// A job's questions to points that were, or will be, measured on `nodes` nodes. No job: its way is not known.
std::vector<judging::Question> questions(const job::Job* job, std::span<const job::Need> needs,
                                         std::span<const judging::RecordedPoint> points, unsigned nodes);

/// Takes the shards' overhead per sample from points that counted samples in the user's shards, where the job lacks it.
/// Returns the set value, in words; "" = none.
std::string adopt_format_overhead(job::Job& job, std::span<const judging::RecordedPoint> points);

}  // namespace headrace::engine
