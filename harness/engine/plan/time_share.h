// How the measuring time of a budget is shared among the points that follow from a job.
#pragma once

#include "harness/base/config/document.h"

namespace headrace::time_share {

/// The share of the budget that making data may take; the rest is for measuring.
inline constexpr double kMaking = 0.3;
/// Weights: the job's own setting, and settings that only advise.
inline constexpr double kOwn = 3, kAdvice = 1;

/// The weights of a rehearsal. They are for the job's own pipeline, a tried setting of the loader, and the expected
/// number of them.
inline constexpr double kRehearsed = 4, kTried = 2;
inline constexpr unsigned kTries = 4;

inline constexpr unsigned kFewest = 5;                     // repetitions that bounds can be distinguished from
inline constexpr double kBeside = 2;                       // of a repetition's time: cache made, proven and rest
inline constexpr double kBesideShards = 1.25;              // the same where files are few
inline constexpr double kShortest_s = 1, kLongest_s = 10;  // of a repetition

/// The length of a repetition at a point with `own_s` in all. It is as long as useful, and short enough for
/// `repetitions`.
double repetition_s(double own_s, unsigned repetitions = kFewest, double beside = kBeside);

/// `repeat:` of such a point. With one look at that many repetitions, or with 0 as many looks as a verdict takes.
config::Value repeat_within(double own_s, unsigned one_look);

}  // namespace headrace::time_share
