// The words of a comparison, apart from the comparing.
#pragma once

#include "harness/comparison/comparison.h"

namespace headrace::comparison {

/// Fills in explanation and next_step of a judged row.
void tell(const Comparison& all, const Pair& pair, Row& row);

/// "B vs A: 2 worse, 1 better, 21 same, 6 inconclusive".
std::string pair_sentence(const Comparison& all, const Pair& pair);

/// "-9.9 %": a ratio as a change.
std::string change_text(double ratio);

}  // namespace headrace::comparison
