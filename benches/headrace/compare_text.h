// A comparison as a person at a terminal reads it.
#pragma once

#include "benches/headrace/answer.h"
#include "benches/headrace/terminal.h"
#include "harness/analysis/comparison/comparison.h"

namespace headrace::cli {

/// The answer for the pair that decides.
Answer comparison_answer(const comparison::Comparison& comparison);

/// The compared sides first, then a line per finding: gates, changes and open questions. With `all` also unchanged
/// metrics, each on its own line.
Text comparison_text(const comparison::Comparison& comparison, const Terminal& terminal, bool all);

/// "VERDICT FAIL compared=30 worse=2 better=1 same=21 inconclusive=6 exit=10".
Text comparison_last_line(const comparison::Comparison& comparison);

}  // namespace headrace::cli
