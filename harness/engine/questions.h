// What a plan asks of what will be measured.
#pragma once

#include <vector>

#include "harness/plan/plan.h"
#include "harness/verdict/answers.h"

namespace headrace::engine {

/// In the plan's order; informative needs are left out.
std::vector<judging::Question> questions(const Plan& plan, unsigned nodes = 1);

}  // namespace headrace::engine
