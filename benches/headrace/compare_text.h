// A comparison as a person at a terminal reads it.
#pragma once

#include "benches/headrace/answer.h"
#include "benches/headrace/terminal.h"
#include "harness/analysis/comparison/comparison.h"

namespace headrace::cli {

/// Of the pair that decides.
Answer comparison_answer(const comparison::Comparison& comparison);

/// What was compared first, then a line per finding: gates, changes and what is open; with `all`
/// also what is the same, each metric for itself.
Text comparison_text(const comparison::Comparison& comparison, const Terminal& terminal, bool all);

/// "VERDICT FAIL compared=30 worse=2 better=1 same=21 inconclusive=6 exit=10".
Text comparison_last_line(const comparison::Comparison& comparison);

}  // namespace headrace::cli
