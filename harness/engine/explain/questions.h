// What a plan asks of what will be measured.
#pragma once

#include <span>
#include <vector>

#include "harness/engine/plan/plan.h"
#include "harness/judge/verdict/answers.h"

namespace headrace::engine {

/// In the plan's order; informative needs are left out.
std::vector<judging::Question> questions(const Plan& plan, unsigned nodes = 1);

/// What a job asks of points that were, or will be, measured on `nodes` nodes. No job: its way is not known.
std::vector<judging::Question> questions(const job::Job* job, std::span<const job::Need> needs,
                                         std::span<const judging::RecordedPoint> points, unsigned nodes);

/// Where the job does not say what its shards' format adds to each sample, and points read the user's shards and counted
/// samples in them: takes it from there. What it set, in words; "" = nothing.
std::string adopt_format_overhead(job::Job& job, std::span<const judging::RecordedPoint> points);

}  // namespace headrace::engine
