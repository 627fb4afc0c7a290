// The words of a comparison, apart from the comparing.
#pragma once

#include "harness/analysis/comparison/comparison.h"

namespace headrace::comparison {

/// Fills in explanation and next_step of a judged row.
void write_words(const Comparison& all, const Pair& pair, Row& row);

/// "B vs A: 2 worse, 1 better, 21 same, 6 inconclusive".
std::string pair_sentence(const Comparison& all, const Pair& pair);

/// The word of a pair in a sentence: "no gate is worse; 7 worse and 6 better are no gates".
std::string gates_sentence(const Pair& pair);

/// The compared parameters: "workers: 1 -> 4", "device.firmware: 1.2 -> 1.3 (declared)"; at least one.
std::vector<std::string> compared_parts(const Comparison& all, const Pair& pair);

/// Where the bounds of stored runs come from; "" for interleaved blocks.
std::string history_sentence(const Comparison& all);

/// "a change of 6.1 %".
std::string visible_text(double change);

/// "-9.9 %": a ratio as a change.
std::string change_text(double ratio);

/// "1.3 %", "120 %": never in powers of ten.
std::string share_text(double share);

}  // namespace headrace::comparison
