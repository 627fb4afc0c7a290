// The records of all workers of a phase together.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "harness/engine/worker_threads.h"
#include "harness/record/recorder.h"
#include "harness/record/repetition.h"

namespace headrace::engine {

// From the recorders' fine intervals to the series that is stored, cut and judged.

/// The unit of a phase's rates.
enum class Window {
  settled,  // the rest after the warm-up
  whole,    // all, from the first byte
};

/// Common to the repetitions of a point at the start of a phase.
struct Starts {
  bool slow = false;  // the last one started slower than it went on
};

/// Why a series of rates is not as steady as it must be, or "".
std::string why_not_steady(std::span<const double> rates, Level must_be);

/// Fills `phase.series` from `series`. Intervals are grouped until each holds about ten operations. There are at most
/// 128 (512 for phases over ten minutes). Cuts the warm-up (rule 11; sets steady_from_s, cut_bytes, cut_operations) of
/// Window::settled. Then judges whether the rest is steady (rule 11) until the first worker was done. A slow start is
/// cut only where the repetition before had one, too. A slow part that does not recur is a stall, and part of the rate.
/// `phase` has its times, bytes and operations. Sets not_steady by `phase.must_be`. A cold pass may become faster:
/// folders and inodes that are read early serve later files. All of it is the pass.
void store_series(const TimeSeries& series, Window window, PhaseResult& phase, Starts& starts);

/// The result of a phase that did not hang. The last `background` of its workers did something else: what they recorded
/// is kept apart. `series` gets what the others recorded over time; `parts`: latency channels of a worker.
PhaseResult phase_result(const PhaseEnd& end, unsigned background, unsigned parts, TimeSeries& series);

}  // namespace headrace::engine
