// The decision of one session, compared with the spread of sessions of the same system.
#pragma once

#include "harness/judge/statistics/comparison.h"
#include "harness/judge/verdict/verdict.h"

// Bounds of shares: a share is within [0, 1].
namespace headrace {
/// The bound of a measured share (unit "ratio", value and need within [0, 1]), kept within [0, 1]. Others as they are.
double possible(const Judgement& judgement, double bound);

}  // namespace headrace

namespace headrace::judging {

/// Widens the judgement's bounds by the spread between `past` sessions: Student's t, wrong in at most 5 % on each side.
/// The session's own bounds are added as independent errors. A PASS or FAIL outside of them becomes INCONCLUSIVE,
/// single-session. Nothing changes where the spread is not known, or nothing was bounded.
void hold_across_sessions(const statistics::SessionSpread& past, Judgement& judgement);

}  // namespace headrace::judging
