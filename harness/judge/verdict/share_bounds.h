// Bounds of shares: a share lies within [0, 1].
#pragma once

#include "harness/judge/verdict/verdict.h"

namespace headrace {

/// The bound of a measured share (unit "ratio", value and need within [0, 1]), kept within [0, 1]; others as they are.
double possible(const Judgement& judgement, double bound);

}  // namespace headrace
