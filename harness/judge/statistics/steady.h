// Warm-up and steady state of one time series (rule 11), and batch means for long single runs
// (rule 19).
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace headrace::statistics {

/// MSER: the cut in the first half that minimises the standard error of the rest. Index of the
/// first kept point.
std::size_t warmup_cut(std::span<const double> values);

/// The start that differs from the rest. It is warmup_cut()'s, where its median is further out than 19 in 20 of the
/// later values; else 0. A stall in the first half is no start, although standard errors alone would cut it. Nor is a
/// pattern that recurs.
struct Start {
  std::size_t length = 0;
  bool slow = false;  // below the rest
};
Start differing_start(std::span<const double> values);

struct Steady {
  bool steady = true;
  double halves_differ = 0;  // relative difference of the medians of the two halves
  double drift = 0;          // relative change of the fitted line over the window
  std::string why;           // "" or "second half 12 % slower"
};
/// After the cut. Fewer than 8 points: steady, as there is no evidence. A difference or drift beyond `limit` counts
/// only if the scatter does not explain it. The t test uses 99 % and up to 16 block means.
Steady judge_steady(std::span<const double> values, double limit = 0.05);

/// A single long run: mean of at least 6 batches, each at least 10 correlation times; t bounds at
/// 95 %.
struct SingleRun {
  bool usable = false;
  double mean = 0, low = 0, high = 0;
  std::size_t batches = 0;
  double correlation_time = 0;  // in points: 1 + 2 * sum of the autocorrelations up to the first that is not positive
};
SingleRun batch_means(std::span<const double> values);

}  // namespace headrace::statistics
