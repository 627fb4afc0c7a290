// What a plan asks of what will be measured.
#pragma once

#include <vector>

#include "harness/judging/answers.h"
#include "harness/plan.h"

namespace headrace::engine {

/// In the plan's order; informative needs are left out.
std::vector<judging::Question> questions(const Plan& plan, unsigned nodes = 1);

}  // namespace headrace::engine
