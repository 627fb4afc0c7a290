// Which runs measured at the same time, and what they gave together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/results/run_file.h"

namespace headrace::sizing {

/// Runs of different nodes with the same configuration that overlap in time: their clients may have
/// shared the storage. The same run given twice counts once.
using Session = std::vector<const results::StoredRun*>;
std::vector<Session> sessions_of(std::span<const results::StoredRun> runs);

/// Two repetitions were at the same time when they overlap by so much of the longer one.
inline constexpr double kTogether = 0.9;

/// Did the repetition deliver nothing in its time? Then it has no rate.
bool delivered_nothing(const results::StoredRepetition& repetition, const std::string& metric);

/// The first of `clients` (the same point of several runs) with the metric's sum over all of them, for each of its
/// repetitions that every other client had one at the same time with. Repetitions without a time have none. A sum is
/// disturbed, not steady or taken again when that holds for any client.
judging::RecordedPoint sum_together(std::span<const results::StoredPoint* const> clients, const std::string& metric);

/// Share of the point's timed seconds in which another run of the session timed something.
double share_beside_others(const results::StoredPoint& point, const results::StoredRun& of, const Session& session);

}  // namespace headrace::sizing
