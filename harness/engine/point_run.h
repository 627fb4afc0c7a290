// One point from check to cleanup: repetitions look by look, until every need is decided or the
// budget is spent.
#pragma once

#include <span>

#include "harness/engine/engine.h"
#include "harness/engine/repetition_run.h"
#include "harness/judge/verdict/answers.h"

namespace headrace::engine {

class PointRunner {
 public:
  PointRunner(const Plan& plan, const Point& point, std::span<const judging::Question> questions, Node& node,
              RunObserver& observer, const EngineLimits& limits);

  /// Never throws for a failing workload: the result has the error. Throws UsageError when the target is not
  /// headrace's.
  PointResult measure();
  /// Takes a fresh set of the first look's size, not counted, for a need that was missed. Appends
  /// to `result`.
  void measure_again(PointResult& result);
  /// A rank other than the first: follows rank 0 through this point, until rank 0 ends the point. False: rank 0 ended
  /// the run.
  bool follow();
  /// A phase hung, or another process of the run is gone: the run must end.
  bool hung() const { return hung_; }

 private:
  class Session;
  const Plan& plan_;
  const Point& point_;
  std::span<const judging::Question> questions_;
  Node& node_;
  RunObserver& observer_;
  EngineLimits limits_;
  RankSync rank_sync_;
  bool hung_ = false;
};

/// Waits, but not when a signal asks to stop.
void rest(double seconds);

}  // namespace headrace::engine
