// How long a job's reads and opens took, and the reads in flight, by a log of single calls.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/observe/calls/call_log.h"
#include "harness/record/histogram.h"

namespace headrace::observe::calls {

struct CallTimes {
  Histogram read, open;              // of files that are no programs; opens to read only [ns]
  double mean_in_flight = 0;         // reads, from the begin of the first to the end of the last
  std::uint32_t most_in_flight = 0;  // at once
  double part_s = 0;                 // length of a part of the observation
  std::vector<double> in_flight{};   // reads, mean of each part
};

/// `begin_s`: when the first call began, in an observation of that length. Nothing where the log has no time of each call:
/// durations are missing, are Darshan's means, or calls were dropped.
std::optional<CallTimes> call_times(const Log& log, double begin_s, double elapsed_s);

}  // namespace headrace::observe::calls
