// The same system against itself: what a comparison shows when nothing has changed (aa.json,
// docs/reference/comparison-json.md), and finding it again for later comparisons.
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

/// Of a comparison of a system with itself in interleaved blocks, at least two of them. FAIL when a
/// gate was called changed: then something favours one place in the order.
Noise noise_of(const Comparison& comparison);

std::string noise_json(const Noise& noise);

/// Reads aa.json, or the one in a folder. Throws UsageError.
Noise read_noise(const std::string& path);

/// The newest aa.json in the folders beside `folder` that is of the same machine, settings and
/// program as `like`. What cannot be read is passed over.
std::optional<Noise> newest_noise(const std::string& folder, const results::StoredRun& like);
/// What is reported about the one beside a stored run.
std::optional<NoiseFloor> noise_beside(const results::StoredRun& run);

}  // namespace headrace::comparison
