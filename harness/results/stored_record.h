// The part of a run file for judging, read back: the questions, and the record of each point.
#pragma once

#include <functional>
#include <vector>

#include "harness/judge/verdict/answers.h"
#include "harness/results/json_place.h"
#include "harness/results/repetition_json.h"

namespace headrace::results {

/// Gets a point's repetitions one by one, in the file's order. On each it gets the whole part of the file, and the
/// names of its operations' parts so far.
using HearRepetition = std::function<void(const Repetition&, const PartNames&)>;

/// A point of run.json.
judging::RecordedPoint read_recorded_point(const JsonPlace& point, const HearRepetition& hears = {});

/// The questions of run.json, in the order in which they were asked.
std::vector<judging::Question> read_questions(const JsonPlace& root);

}  // namespace headrace::results
