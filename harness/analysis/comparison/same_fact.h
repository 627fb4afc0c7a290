// Metrics of one point that say the same: rates made of the same time, a percentile that is the
// maximum. They are one finding.
#pragma once

#include <vector>

#include "harness/analysis/comparison/comparison.h"

namespace headrace::comparison {

/// Sets `says_same_as` of every row that follows another one of its point. No table of metrics
/// reports it, their values do: in every repetition of both sides the one is the same multiple of the
/// other, or of its inverse. Gates stand for themselves.
void fold_same_facts(std::vector<Row>& rows);

}  // namespace headrace::comparison
