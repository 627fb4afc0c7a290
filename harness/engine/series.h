// From the recorders' fine intervals to the series that is stored, cut and judged.
#pragma once

#include <string>

#include "harness/recorder.h"
#include "harness/repetition.h"

namespace headrace::engine {

/// Fills `phase.series` from `series`: intervals are grouped until each holds about ten operations
/// and there are at most 128 (512 for phases over ten minutes). Cuts the warm-up (rule 3; sets
/// steady_from_s, cut_bytes, cut_operations) unless `cold`, and judges whether the rest is steady
/// (rule 4) up to the time when the first worker was done. `phase` has its times, bytes and
/// operations. Returns why it is not steady, or "".
std::string store_series(const TimeSeries& series, bool cold, PhaseResult& phase);

}  // namespace headrace::engine
