// The same system compared with itself: the differences when nothing has changed. Stored in aa.json
// (docs/reference/comparison-json.md), and found again for later comparisons.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/engine/run_result.h"
#include "harness/judge/statistics/comparison.h"
#include "harness/results/run_file.h"

namespace headrace::comparison {

struct Comparison;

/// One metric of one point.
struct NoiseRow {
  results::StoredPoint point;  // id, workload and parameters
  std::string metric, unit;
  statistics::Change status = statistics::Change::inconclusive;
  std::optional<statistics::RatioEstimate> estimate;
  double block_spread = 0;      // standard deviation of the logarithm of a block's ratio
  double noise_floor = 0;       // half the width of the bounds that six such blocks give
  double false_alarm_rate = 0;  // of 2,000 comparisons of six such blocks
  std::vector<double> blocks;   // ratios
};

struct Noise {
  results::StoredRun system;  // node, version, environment, configuration of the first run
  unsigned blocks = 0;
  std::vector<NoiseRow> rows;
  std::string source;
  Outcome word = Outcome::pass;
  int exit_code = 0;

  unsigned changed() const;
  /// Median floor and mean false-alarm rate over all metrics.
  NoiseFloor summary() const;
};

/// The noise in a comparison of a system with itself, in at least two interleaved blocks. FAIL when a gate was called
/// changed: then something favours one place in the order.
Noise noise_of(const Comparison& comparison);

std::string noise_json(const Noise& noise);

/// Reads aa.json, or the one in a folder. Throws UsageError.
Noise read_noise(const std::string& path);

/// The newest aa.json in the folders next to `folder` with the same machine, settings and program as `like`. Unreadable
/// files are passed over.
std::optional<Noise> newest_noise(const std::string& folder, const results::StoredRun& like);
/// The reported part of the noise next to a stored run.
std::optional<NoiseFloor> noise_beside(const results::StoredRun& run);

}  // namespace headrace::comparison
