// How the measuring time of a budget is shared among the points that follow from a job.
#pragma once

#include "harness/config/document.h"

namespace headrace::time_share {

/// The share of the budget that making data may take; the rest is for measuring.
inline constexpr double kMaking = 0.3;
/// Weights: what the job does, and what is only there to advise.
inline constexpr double kOwn = 3, kAdvice = 1;

inline constexpr unsigned kFewest = 5;                     // repetitions that bounds can be told from
inline constexpr double kBeside = 2;                       // of a repetition's time: cache made, proven and rest
inline constexpr double kShortest_s = 1, kLongest_s = 10;  // of a repetition

/// Of a point that has `own_s` in all: as long as useful, and short enough for the fewest repetitions.
double repetition_s(double own_s);

/// `repeat:` of such a point; with one look, or as many as a verdict takes.
config::Value repeat_within(double own_s, bool one_look);

}  // namespace headrace::time_share
