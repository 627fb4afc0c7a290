// From questions and records to judgements: which point answers which need, with what evidence. Nothing here knows
// whether the run has just ended or was read back from its file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/job/needs.h"
#include "harness/job/way.h"
#include "harness/judge/verdict/record.h"
#include "harness/judge/verdict/verdict.h"

namespace headrace::judging {

/// One thing that is asked: a need of the job, or one that the configuration declares.
struct Question {
  Judgement blank;                               // id, scope, need, unit, direction, formula
  std::vector<std::string> measured_by;          // "small_file_read.read_bandwidth"
  std::string workload;                          // the first of them that this headrace has; "" = none
  std::optional<CacheState> cache;               // the state that it must have been measured in
  std::vector<job::JobParameter> with;           // parameters that it must have been measured with
  std::optional<job::JobCollective> collective;  // that the points must do to answer it
  std::optional<job::Way> way;                   // the job's, of which the point that is most like it answers
  /// Metrics of measured_by that are lower bounds: they meet the need or report nothing.
  std::vector<std::string> lower_bounds;
  std::string worst_over;    // job::NeedKind
  unsigned choices = 1;      // points that could answer equally well, of which their values choose one
  double parts = 1;          // the node's value is shared by that many (GPUs)
  bool per_node = false;     // of the sum of several nodes, each one's share answers
  bool per_process = false;  // the same of several processes, each with a GPU
  bool optional = false;     // not judged where all points that would answer were skipped
  std::string cannot;        // not "": why these machines cannot answer it
  std::string never_passes;  // not "": why no figure of the program that measured may meet it
};

/// The decoders of training frameworks take at most this multiple of headrace's time. Pillow with torchvision takes
/// about three times as long (docs/reference/rehearsal.md).
inline constexpr double kSlowestDecoder = 4;
inline constexpr std::string_view kDecodeHeadroom = "decode_headroom";  // the metric that is compared with it

/// The point's metric that answers the question, or "".
std::string answering_metric(const Question& question, const RecordedPoint& point);

/// An answer, and whether more repetitions could change it.
struct Answer {
  Judgement judgement;
  bool undecided = false;
};
/// By the repetitions of `point` that count. `next_look`: repetitions at the next look, 0 = there
/// will be no more.
Answer answer(const Question& question, const RecordedPoint& point, unsigned next_look);

/// Does the point's answering metric report on the question's job? False: it moved files or requests of another size.
bool answers(const Question& question, const RecordedPoint& point);

/// How the point differs from the way of the question's job; as it, where the question has none.
job::Likeness likeness(const Question& question, const RecordedPoint& point);

/// Every question's judgement, worst first, by the first of its metrics that was measured. Of several points the one
/// most like the job answers, else the best (question.worst_over: the worst of the best ones). A FAIL whose point was
/// measured again is final, or INCONCLUSIVE when the fresh repetitions meet the need.
std::vector<Judgement> answer_all(std::span<const Question> questions, std::span<const RecordedPoint> points);

/// All that judges a run's points: the questions, and the parts that are slow among their like (slow_parts.h).
std::vector<Judgement> judge_run(std::span<const Question> questions, std::span<const RecordedPoint> points);

/// The word for the whole run. `signal` ended it; 0 = none did.
Summary summarize_run(std::span<const Judgement> judgements, std::span<const RecordedPoint> points, int signal);

}  // namespace headrace::judging
