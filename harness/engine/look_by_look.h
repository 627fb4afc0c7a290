// When repetitions are looked at, which are repeated and when they are enough. Independent of the machine: the
// measuring function is given.
#pragma once

#include <functional>
#include <span>

#include "harness/engine/run_result.h"
#include "harness/judge/verdict/answers.h"

namespace headrace::engine {

struct Measuring {
  /// Appends `count` repetitions of `look` to the result, or fewer when it must stop. `target`: the number wanted in
  /// all.
  std::function<void(unsigned count, unsigned look, unsigned target)> take;
  std::function<bool()> must_stop;  // asked to, or the budget is spent
  std::function<void()> summarize;  // after each look
};

/// Look by look until every question that the point answers is decided. Without one, until the interval of its first
/// metric is narrow. Failed or disturbed repetitions are repeated, `retakes` times per look. Where the last look leaves
/// a need open as neighbours are alike, there is one more. True: decided before the last look.
bool measure_look_by_look(PointResult& result, std::span<const judging::Question> questions, unsigned retakes,
                          const Measuring& measuring);

}  // namespace headrace::engine
