// How the measuring time of a budget is shared among the points that follow from a job.
#pragma once

#include "harness/base/config/document.h"

namespace headrace::time_share {

/// The share of the budget that making data may take; the rest is for measuring.
inline constexpr double kMaking = 0.3;
/// Weights: what the job does, and what is only there to advise.
inline constexpr double kOwn = 3, kAdvice = 1;

/// Of a rehearsal: the job's own pipeline, a setting of the loader that is tried, and how many of them are expected to be.
inline constexpr double kRehearsed = 4, kTried = 2;
inline constexpr unsigned kTries = 4;

inline constexpr unsigned kFewest = 5;                     // repetitions that bounds can be distinguished from
inline constexpr double kBeside = 2;                       // of a repetition's time: cache made, proven and rest
inline constexpr double kBesideShards = 1.25;              // the same where files are few
inline constexpr double kShortest_s = 1, kLongest_s = 10;  // of a repetition

/// Of a point that has `own_s` in all: as long as useful, and short enough for that many repetitions.
double repetition_s(double own_s, unsigned repetitions = kFewest, double beside = kBeside);

/// `repeat:` of such a point; with one look at that many repetitions, or with 0 as many looks as a verdict takes.
config::Value repeat_within(double own_s, unsigned one_look);

}  // namespace headrace::time_share
