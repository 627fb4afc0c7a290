// What a plan asks of what will be measured.
#pragma once

#include <span>
#include <vector>

#include "harness/plan/plan.h"
#include "harness/verdict/answers.h"

namespace headrace::engine {

/// In the plan's order; informative needs are left out.
std::vector<judging::Question> questions(const Plan& plan, unsigned nodes = 1);

/// What a job asks of points that were, or will be, measured on `nodes` nodes. No job: its way is not known.
std::vector<judging::Question> questions(const requirements::Job* job, std::span<const requirements::Need> needs,
                                         std::span<const judging::RecordedPoint> points, unsigned nodes);

}  // namespace headrace::engine
