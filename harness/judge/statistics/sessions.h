// What does a system give, not in one session but in any? Sessions differ by more than their repetitions explain, so
// they are the unit of variation. docs/explanation/sizing.md.
#pragma once

#include <span>

namespace headrace::statistics {

/// Sessions below which the spread between sessions is not known.
inline constexpr unsigned kFewestSessions = 8;
/// The assumed spread then, as the standard deviation of their logarithms: more than sessions of one quiet system
/// commonly differ. One session's bounds are then at least as far from its mean as the smallest change that matters
/// (kDeltaRate).
inline constexpr double kAssumedSpread = 0.03;

/// The mean of one session, with bounds of which each is wrong in at most 5 %.
struct SessionMean {
  double mean = 0, low = 0, high = 0;
};

/// The mean over sessions (of logarithms). Each bound is wrong in at most 5 % for sessions that differ by up to
/// kAssumedSpread. From kFewestSessions on that holds for any even scatter.
///
/// Few sessions: the scatter within each, and kAssumedSpread or their own larger spread between them, added
/// as independent errors are. From kFewestSessions on: Student's t over the sessions' means alone. When a mean is not
/// above 0 there are no logarithms: the lowest and highest bounds of all. At least one session.
SessionMean across_sessions(std::span<const SessionMean> sessions);

}  // namespace headrace::statistics
