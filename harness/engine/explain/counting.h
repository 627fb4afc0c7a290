// Which repetitions count.
#pragma once

#include <span>

#include "harness/record/repetition.h"

namespace headrace::engine {

/// Repetitions that went through and that nothing disturbed.
unsigned clean(std::span<const Repetition> repetitions);
/// Repetitions that count.
unsigned counted(std::span<const Repetition> repetitions);
/// Marks what counts of those that went through. `target` are wanted: a disturbed one counts only
/// where no undisturbed one stands in for it.
void count_up_to(unsigned target, std::span<Repetition> repetitions);

}  // namespace headrace::engine
