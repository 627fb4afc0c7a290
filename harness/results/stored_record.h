// What a run file holds for judging, read back: what was asked, and what was recorded of each
// point.
#pragma once

#include <functional>
#include <vector>

#include "harness/judge/verdict/answers.h"
#include "harness/results/json_place.h"
#include "harness/results/repetition_json.h"

namespace headrace::results {

/// Hears of a point's repetitions one by one, in the file's order: all that the file says of each, and the names of the
/// parts of its operations so far.
using HearRepetition = std::function<void(const Repetition&, const PartNames&)>;

/// A point of run.json.
judging::RecordedPoint read_recorded_point(const JsonPlace& point, const HearRepetition& hears = {});

/// The questions of run.json, in the order in which they were asked.
std::vector<judging::Question> read_questions(const JsonPlace& root);

}  // namespace headrace::results
