// How long two hosts take from a small message to its answer.
#pragma once

#include <algorithm>
#include <vector>

namespace headrace {

/// As programs see it [s].
struct PairLatency {
  double least_s = 0, median_s = 0, p99_s = 0;
};

/// The latency from at least one time [s].
inline PairLatency latency_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2], times[times.size() * 99 / 100]};
}

inline constexpr std::size_t kMostPings = 400;
inline constexpr double kPinging = 0.3;  // of the time of one way, at most

}  // namespace headrace
