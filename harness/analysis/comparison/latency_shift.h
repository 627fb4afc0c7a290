// Where in the distribution the latencies of a joined point differ.
#pragma once

#include "harness/analysis/comparison/join.h"

namespace headrace::comparison {

/// Adds a shift for each phase and part that both sides have.
void compare_latency(const Joined& joined, Pair& pair);

}  // namespace headrace::comparison
