// Rates of pairs of nodes, as metrics, so that histories and comparisons cover nodes and the links between them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/results/run_file.h"

namespace headrace::results {

/// Ends that may meet (nodes, or one rail of each), and the slower way of each two that did [B/s].
struct RatedPairs {
  struct One {
    unsigned a = 0, b = 0;
    double rate = 0;
  };
  std::vector<std::string> names;
  std::vector<One> all;
  double usual = 0;  // rate of healthy pairs [B/s], if known: few pairs of a round may all be slow
};

/// As shares of the usual rate, or of the middle end's rate with its best partner in the same repetition. "rate of node3" is the median of
/// its pairs; there is "rate of node2 and node5", too. So a loss that all share is reported by other metrics, and not
/// again by each pair. Of more than 64 ends each has "slowest pair of node3" in the place of pairs. An item is a rail
/// of a repetition; values are in their order.
std::vector<StoredMetric> pair_metrics(const std::vector<RatedPairs>& repetitions);

/// Adds them to each point that measured pairs.
void add_pair_metrics(StoredRun& run);

bool is_pair_metric(std::string_view metric);

/// Sets the median and the range of its values, of which there is one at least.
void summarize_range(StoredMetric& metric);

}  // namespace headrace::results
