// What does a system give, not in one session but in any? Sessions lie apart by more than their
// repetitions explain, so they are the unit of variation. docs/explanation/sizing.md.
#pragma once

#include <span>

namespace headrace::statistics {

/// Sessions below which the spread between sessions is not known.
inline constexpr unsigned kFewestSessions = 8;
/// What is taken for it then, as the standard deviation of their logarithms: more than sessions of
/// one quiet system commonly lie apart. One session's bounds then lie at least as far from its
/// mean as the smallest change that matters (kDeltaRate).
inline constexpr double kAssumedSpread = 0.03;

/// The mean of one session, with bounds of which each is wrong in at most 5 %.
struct SessionMean {
  double mean = 0, low = 0, high = 0;
};

/// The mean over sessions (of logarithms), each bound wrong in at most 5 % for sessions that differ
/// by up to kAssumedSpread, and from kFewestSessions on for any that scatter evenly.
///
/// Few sessions: the scatter within each, and between them kAssumedSpread or what they show, if
/// that is more, added as independent errors are. From kFewestSessions on: Student's t over the
/// sessions' means alone. When a mean is not above 0 there are no logarithms: the lowest and
/// highest bounds of all. At least one session.
SessionMean across_sessions(std::span<const SessionMean> sessions);

}  // namespace headrace::statistics
