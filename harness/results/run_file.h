// A finished run, read from its run.json or a report page. It is the input of comparisons, fleets, histories and
// sizings.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/diagnostics.h"
#include "harness/judge/verdict/record.h"
#include "harness/record/histogram.h"
#include "harness/record/metric_summary.h"
#include "harness/record/noise_floor.h"
#include "harness/record/pair_matrix.h"
#include "harness/results/stored_verdict.h"

namespace headrace::results {

using StoredMetric = MetricSummary;

/// Latencies of one phase, all counted repetitions together. `part` is "" for the whole operation.
struct StoredLatency {
  std::string phase, part;
  Histogram histogram;
};

/// One repetition, whether it counts or not: the part for verdicts, and its time.
struct StoredRepetition : judging::RecordedRepetition {
  unsigned index = 0;
  std::uint64_t operations = 0;  // of all phases
  /// When its timed part was, in seconds since 1970 by the node's clock; both 0: not reported.
  double began_unix_s = 0, ended_unix_s = 0;
};

struct StoredPoint {
  std::string id, workload, description, cache, status, reason;
  /// "engine" -> "posix": the full parameters that comparisons join on, cache state included.
  std::map<std::string, std::string> params;
  std::vector<std::string> notes;
  std::vector<StoredMetric> metrics;
  std::vector<StoredLatency> latency;
  std::vector<StoredRepetition> each;  // in the order in which they were taken
  judging::RecordedPoint record;       // the part for verdicts; its repetitions are in `each`
  std::optional<PairMatrix> pairs;     // of workloads that measure pairs: the medians
  std::vector<PairMatrix> pairs_each;  // of the repetitions that count
  unsigned repetitions = 0;            // that count
  unsigned workers = 1;
  unsigned nodes = 1;          // that took part together: rates are of all of them
  bool deterministic = false;  // facts: read, not measured
  double elapsed_s = 0;
  /// Shares of those that count.
  double disturbed_share = 0, cache_unproven_share = 0, not_steady_share = 0;

  const StoredMetric* find(std::string_view metric) const;
  /// The point as a verdict on its run judges it.
  judging::RecordedPoint recorded() const;
};

/// For a rehearsal: the GPU utilization that single measurements predict, less the rehearsed one. Ratios.
struct StoredPrediction {
  double predicted = 0, error = 0;
  std::string grade;
};

/// A figure compared with that of sound hardware (docs/reference/expectations.md).
struct StoredExpected {
  std::string point, metric, part_kind, standing, reported;
};

struct StoredRun : StoredVerdict {
  std::map<std::string, std::string> job;  // values of the job, by path; empty = there was none
  std::string job_name;
  std::vector<StoredPoint> points;
  /// "kernel.release" -> "6.1.0".
  std::map<std::string, std::string> environment;
  std::optional<StoredPrediction> prediction;  // of a rehearsal that was predicted
  std::optional<NoiseFloor> noise;             // of `headrace run --against-itself` on this system, if it was run
  std::vector<StoredExpected> expected;

  const StoredPoint* find(std::string_view point) const;
};

/// Reads a run folder, its run.json, or a report page. Throws UsageError: "runs/a/run.json:
/// points[0].metrics[2].median: missing". Schemas other than result_store.h's are refused before anything else is
/// looked at. So is a file whose numbers contradict each other.
StoredRun read_run_file(const std::string& path);

/// The same from a document's text; `path` is only kept.
StoredRun parse_run(std::string_view text, const std::string& path);

/// The file that read_run_file opens for a folder, file or page.
std::string run_file_in(const std::string& path);

}  // namespace headrace::results
