// `ramp: true` - the highest rate of an open loop that still holds.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace headrace {

/// A rate that was tried, and its result.
struct Rung {
  double rate = 0;  // [1/s]
  bool held = false;
  double p99_s = 0;
  std::string why;  // it did not hold: "p99 of 31 ms", "the queue grew"; "" when it did
};

struct Climb {
  double rate = 0;  // the highest that held; the lowest tried when none did
  bool held = false;
  std::vector<Rung> rungs;  // in the order in which they were tried
};

/// From `start` on, doubles the rate until one does not hold (or halves it until one does). Then tries the geometric
/// middle until the highest rate that holds is within 5 % of the lowest that does not. A rate is given up only after it
/// failed twice: the first may have met a neighbour.
Climb climb(double start, const std::function<Rung(double rate)>& attempt);

/// "125/s (p99 3 ms), 250/s (p99 5 ms), 500/s (no: the queue grew)".
std::string to_string(const Climb& climb);

}  // namespace headrace
