// What one session decided, compared with how far sessions of the same system lie apart.
#pragma once

#include "harness/judge/statistics/comparison.h"
#include "harness/judge/verdict/verdict.h"

// Bounds of shares: a share lies within [0, 1].
namespace headrace {
/// The bound of a measured share (unit "ratio", value and need within [0, 1]), kept within [0, 1]; others as they are.
double possible(const Judgement& judgement, double bound);

}  // namespace headrace

namespace headrace::judging {

/// Widens the judgement's bounds by the spread between `past` sessions (Student's t, wrong in at most 5 % on each side;
/// the session's own bounds added as independent errors), and takes back a PASS or FAIL that they no longer bear:
/// INCONCLUSIVE, single-session. Nothing changes where the spread is not known, or nothing was bounded.
void hold_across_sessions(const statistics::SessionSpread& past, Judgement& judgement);

}  // namespace headrace::judging
