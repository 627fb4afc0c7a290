// Two or more sides compared with each other: which metrics differ, by how much, and when nothing can be concluded.
// docs/reference/comparison-json.md describes the file (comparison.json).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/comparison/fingerprint_difference.h"
#include "harness/analysis/comparison/noise.h"
#include "harness/judge/statistics/comparison.h"
#include "harness/judge/verdict/verdict.h"
#include "harness/results/metric_filter.h"
#include "harness/results/run_file.h"

namespace headrace::comparison {

/// A side: one finished run, or all runs of one side of interleaved blocks.
struct Side {
  std::string label;   // "A"
  std::string source;  // as the user gave it
  std::vector<results::StoredRun> runs;
  std::vector<unsigned> blocks;  // of each run, from 1; empty = not interleaved

  const results::StoredRun& first() const { return runs.front(); }
};

/// How it was measured, and the deciding rules.
struct Design {
  bool interleaved = false;
  unsigned blocks = 0;  // finished on every side
  /// The first that many blocks decide, regardless of later ones; 0 = none yet.
  unsigned look = 0, next_look = 0;
  unsigned last_judged = 0;  // number of the last block that decides
  double level = statistics::kStoredLevel;
  double delta_rate = statistics::kDeltaRate, delta_tail = statistics::kDeltaTail;
  std::string sentence;
};

struct Options {
  double delta_rate = statistics::kDeltaRate, delta_tail = statistics::kDeltaTail;
  /// The metrics that decide the exit code, of the base's runs.
  results::MetricFilter gates;
  /// Fingerprint keys or sections ("device", "kernel.release") that differ on purpose.
  std::vector<std::string> declared;
  /// Parameters that are ignored when points are joined: they differ on purpose.
  std::vector<std::string> across;
  /// Past runs: those of the base's configuration and fingerprint show the spread of sessions.
  std::string history_source;
  std::vector<results::StoredRun> history;
  /// The system's noise when nothing has changed: a change within it is not called one.
  std::optional<Noise> noise;
};

/// The values of one side.
struct Values {
  /// The values of the change: B's over A's is the ratio. The median; of interleaved blocks the geometric mean over the
  /// blocks.
  double typical = 0;
  double median = 0, low = 0, high = 0;
  std::vector<double> values;
};

struct Block {
  unsigned number = 0;
  double base = 0, other = 0;
  bool disturbed = false;
  bool judged = false;  // it is one of those that decide
};

/// One metric of one point on both sides.
struct Row {
  std::string workload, base_point, other_point;
  std::map<std::string, std::string> params;
  std::string metric, unit, description;
  Better better = Better::higher;
  bool gated = false;
  bool fact = false;  // read, not measured: compared exactly
  double delta = 0;
  std::optional<statistics::RatioEstimate> estimate;  // nothing with too few values, or one that is 0
  bool callable = false;                              // measured well enough to be called anything
  bool significant = false;                           // by rule 10; always for gates and facts
  statistics::Change change = statistics::Change::inconclusive;
  Reason reason = Reason::none;
  std::string explanation, next_step;
  std::optional<double> noise_floor;  // of this system compared with itself
  bool within_noise = false;          // a change, had it not been for that
  bool names_differ = false;          // one side dropped names from memory, and the other did not
  std::string says_same_as;           // the metric of its point whose finding this is; "" = its own
  Values base, other;
  std::vector<Block> blocks;
};

/// Where in the distribution latencies differ: B's latency at each share of A's and B's operations.
struct LatencyShift {
  std::string workload, base_point, other_point, phase, part;
  std::vector<double> probability, base_ns, other_ns;
  std::uint64_t base_operations = 0, other_operations = 0;
};

struct NotCompared {
  std::string point, metric, side, why;
  bool gated = false;  // it, or one of the point's metrics, would have decided
};

/// A parameter in which the two sides of joined points differ, on purpose.
struct ParameterDifference {
  std::string name, base, other;
  std::vector<std::string> points;  // of the base; empty = all that were compared
};

/// Equivalent metrics count once.
struct PairSummary {
  unsigned worse = 0, better = 0, differs = 0, same = 0, small = 0, inconclusive = 0, gated = 0;
  unsigned findings = 0;
  double expected_by_chance = 0;
  /// A change of this size would have made half of the findings "changed"; 0 = not known.
  double smallest_visible = 0;
  Outcome word = Outcome::pass;
  std::string sentence;
  std::string about_gates;  // the word in a sentence: "no gate is worse; 7 worse are no gates"
  int exit_code = 0;
};

struct Pair {
  std::size_t base = 0, other = 0;  // indices of the sides
  PairSummary summary;
  std::vector<ParameterDifference> parameters;
  /// Findings: gated first, then farthest beyond delta first; behind each the equivalent ones.
  std::vector<Row> rows;
  std::vector<LatencyShift> latency;
  std::vector<NotCompared> not_compared;
  std::vector<std::string> warnings;
  bool same_run = false;  // a run compared with itself
};

struct Comparison {
  std::vector<std::string> command;  // that made it, as given; for pages
  Design design;
  std::vector<Side> sides;
  std::vector<FingerprintDifference> fingerprint;
  std::string history_source, history_why;  // why the spread between sessions is not known, or ""
  unsigned history_sessions = 0;
  std::optional<NoiseFloor> noise;
  std::vector<Pair> pairs;  // each other side against the first
  Outcome word = Outcome::pass;
  int exit_code = 0;
};

/// Compares every side with the first. Throws UsageError with fewer than two sides, or when nothing
/// at all could be joined.
Comparison compare(std::vector<Side> sides, const Options& options);

/// Adds the measured noise to a comparison that was made without; decides nothing anew.
void set_noise(const Noise& noise, Comparison& comparison);

std::string_view to_string(statistics::Change change);

/// `tail` for tails (percentiles from 90 on, maxima), else `rate`: the change from which on one matters.
double delta_of(std::string_view metric, double rate, double tail);

}  // namespace headrace::comparison
