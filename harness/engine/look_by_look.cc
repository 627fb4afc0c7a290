#include "harness/engine/look_by_look.h"

#include <algorithm>
#include <cmath>

#include "harness/engine/explain/evidence.h"
#include "harness/engine/explain/measured_point.h"
#include "harness/judge/statistics/summary.h"
#include "harness/judge/verdict/slow_parts.h"

namespace headrace::engine {
namespace {

constexpr double kNarrow = 0.025;  // half width of an ungated metric's interval

/// Until `target` repetitions count; those that failed or were disturbed are taken again, a few
/// times.
void take_look(PointResult& result, unsigned look, unsigned retakes_left, const Measuring& measuring) {
  const unsigned target = result.looks.looks[look];
  unsigned missing = target - std::min(target, counted(result.repetitions));
  while (missing > 0 && !measuring.must_stop()) {
    measuring.take(missing, look, target);
    count_up_to(target, result.repetitions);
    missing = std::min(retakes_left, target - std::min(target, clean(result.repetitions)));
    retakes_left -= missing;
  }
}

/// The state of this point's questions so far.
std::vector<judging::Answer> answers(const PointResult& result, std::span<const judging::Question> questions,
                                     unsigned next_look) {
  const judging::RecordedPoint point = recorded(result);
  std::vector<judging::Answer> all;
  for (const judging::Question& q : questions) {
    if (!judging::answering_metric(q, point).empty()) all.push_back(judging::answer(q, point, next_look));
  }
  return all;
}

/// Is it open whether some part is slow, which more repetitions would report?
bool suspects(const PointResult& result) {
  if (std::ranges::none_of(result.repetitions, [](const Repetition& r) { return r.pairs.has_value(); })) return false;
  judging::RecordedPoint point = recorded(result);
  point.status = PointStatus::ok;  // as far as it has come
  return std::ranges::any_of(judging::judge_parts({&point, 1}),
                             [](const Judgement& j) { return j.outcome == Outcome::inconclusive; });
}

bool decided(const PointResult& result, std::span<const judging::Question> questions, unsigned next_look) {
  if (suspects(result)) return false;
  const std::vector<judging::Answer> all = answers(result, questions, next_look);
  if (!all.empty()) return std::ranges::none_of(all, &judging::Answer::undecided);
  for (const MetricSummary& m : result.metrics) {
    if (m.better == Better::neither) continue;
    return m.high - m.low <= 2 * kNarrow * std::abs(m.median);
  }
  return true;
}

bool correlated(const PointResult& result, std::span<const judging::Question> questions) {
  return std::ranges::any_of(answers(result, questions, 0),
                             [](const judging::Answer& a) { return a.judgement.reason == Reason::correlated; });
}

}  // namespace

bool measure_look_by_look(PointResult& result, std::span<const judging::Question> questions, unsigned retakes,
                          const Measuring& measuring) {
  const std::size_t planned = result.looks.looks.size();
  for (unsigned look = 0; look < result.looks.looks.size(); ++look) {
    take_look(result, look, retakes, measuring);
    measuring.summarize();
    if (measuring.must_stop()) return false;
    const bool last = look + 1 == result.looks.looks.size();
    if (!last && decided(result, questions, result.looks.looks[look + 1])) return true;
    if (last && look + 1 == planned && correlated(result, questions)) statistics::add_look(result.looks);
  }
  return false;
}

}  // namespace headrace::engine
