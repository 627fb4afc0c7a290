// From the recorders' fine intervals to the series that is stored, cut and judged.
#pragma once

#include <string>

#include "harness/recorder.h"
#include "harness/repetition.h"

namespace headrace::engine {

/// What the rates of a phase are of.
enum class Window {
  settled,     // what remains after the warm-up
  cold_start,  // all, from the first byte
  cold_pass,   // all, and that is each byte of the data set once
};

/// Fills `phase.series` from `series`: intervals are grouped until each holds about ten operations
/// and there are at most 128 (512 for phases over ten minutes). Cuts the warm-up (rule 3; sets
/// steady_from_s, cut_bytes, cut_operations) of Window::settled, and judges whether the rest is
/// steady (rule 4) up to the time when the first worker was done. `phase` has its times, bytes and
/// operations. Returns why it is not steady, or "". A cold pass may become faster: what is read
/// early, folders and inodes, serves the files after it, and the whole of that is the pass.
std::string store_series(const TimeSeries& series, Window window, PhaseResult& phase);

}  // namespace headrace::engine
