// From the plan's needs to judgements: which point answers which need, with what evidence.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/plan.h"
#include "harness/run_result.h"
#include "harness/verdict.h"

namespace headrace::engine {

/// One thing that is asked: a need of the job, or one that the configuration declares.
struct Question {
  Judgement blank;                       // id, scope, need, unit, direction, formula
  std::vector<std::string> measured_by;  // "small_file_read.read_bandwidth"
  std::optional<CacheState> cache;       // the state that it must have been measured in
  std::vector<requirements::JobParameter> with;           // parameters that it must have been measured with
  std::optional<requirements::JobCollective> collective;  // that the points must do to answer it
  double parts = 1;                      // what the node gives is shared by so many (GPUs)
  bool per_node = false;                 // of what several nodes give together, each one's share answers
  std::string cannot;                    // not "": why these machines cannot answer it
};
/// In the plan's order; informative needs are left out.
std::vector<Question> questions(const Plan& plan, unsigned nodes = 1);

/// The point's metric that answers the question, or "".
std::string answering_metric(const Question& question, const Point& point);

/// Why what was measured is no answer although the point's metric is: "" = it is one.
std::string no_answer(const Question& question, const PointResult& result);

/// How many share what the point measured: GPUs of the node that ask, and nodes that measured together.
double parts(const Question& question, const PointResult& result);

/// An answer, and whether more repetitions could change it.
struct Answer {
  Judgement judgement;
  bool undecided = false;
};
/// By the repetitions of `result` that count. `next_look`: repetitions at the next look, 0 = there
/// will be no more.
Answer answer(const Question& question, const PointResult& result, unsigned next_look);

/// Every question's judgement, by the point with the best median; worst first.
std::vector<Judgement> answer_all(std::span<const Question> questions,
                                  std::span<const PointResult> points);

/// A FAIL that was measured once more becomes final, or INCONCLUSIVE when the fresh set's median
/// meets the need. `fresh`: the repetitions taken again.
/// `parts`: as parts() says.
void confirm(std::span<const Repetition> fresh, double parts, Judgement& judgement);

}  // namespace headrace::engine
