// What a run file holds for judging, read back: what was asked, and what was recorded of each
// point.
#pragma once

#include <vector>

#include "harness/results/json_place.h"
#include "harness/verdict/answers.h"

namespace headrace::results {

/// A point of run.json.
judging::RecordedPoint read_recorded_point(const JsonPlace& point);

/// The questions of run.json, in the order in which they were asked.
std::vector<judging::Question> read_questions(const JsonPlace& root);

}  // namespace headrace::results
