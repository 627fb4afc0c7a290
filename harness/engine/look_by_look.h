// When repetitions are looked at, what is taken again and when it is enough. Knows no machine: what
// measures is given.
#pragma once

#include <functional>
#include <span>

#include "harness/engine/run_result.h"
#include "harness/judge/verdict/answers.h"

namespace headrace::engine {

struct Measuring {
  /// Appends `count` repetitions of `look` to the result, or fewer when it must stop. `target`: so
  /// many are wanted in all.
  std::function<void(unsigned count, unsigned look, unsigned target)> take;
  std::function<bool()> must_stop;  // asked to, or the budget is spent
  std::function<void()> summarize;  // after each look
};

/// Look by look until every question that the point answers is decided; without one, until the
/// interval of its first metric is narrow. What failed or was disturbed is taken again, `retakes`
/// times per look. Where the last look leaves a need open as neighbours are alike, there is one
/// more. True: decided before the last look.
bool measure_look_by_look(PointResult& result, std::span<const judging::Question> questions, unsigned retakes,
                          const Measuring& measuring);

}  // namespace headrace::engine
