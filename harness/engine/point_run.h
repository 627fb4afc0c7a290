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

  /// Never throws for a failing workload: the result says so. Throws UsageError when the target is
  /// not headrace's.
  PointResult measure();
  /// Takes a fresh set of the first look's size, not counted, for a need that was missed. Appends
  /// to `result`.
  void measure_again(PointResult& result);
  /// A rank other than the first: does what rank 0 says for this point, until it says that the
  /// point is over. False: it says that the run is over.
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
