// The points of a run, compared by one metric: mean, bounds, minimum, maximum, distance from the best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "benches/headrace/answer.h"
#include "benches/headrace/terminal.h"
#include "harness/engine/run_result.h"

namespace headrace::cli {

struct ScanRow {
  std::string point;            // "workers:4", the swept parameter; the workload's name without a sweep
  std::string missing;          // why there are no values; "" = there are
  std::string unproven;         // why the values may be of another cache state than declared: then none is the best
  std::size_t repetitions = 0;  // that count
  double mean = 0, median = 0, low = 0, high = 0, least = 0, most = 0;
  double shown = 0;                      // MetricSummary::shown(), which `low` and `high` bound
  double relative = 0;                   // how many times better the best point's is: 1 = the best; 0 = not known
  std::vector<double> values;            // of the repetitions, in their order
  std::size_t taken = 0, disturbed = 0;  // repetitions that ran to their ends, and that something else disturbed
  std::vector<std::pair<std::string, double>> others;  // medians of the metrics shown next to it: name and value
  std::string retried;                                 // answers of a store that asked for fewer requests, and retries
  std::string partial;                                 // the value of an interrupted first repetition until then
};

struct Scan {
  std::string workload, metric, unit, description;
  Better better = Better::higher;
  std::vector<ScanRow> rows;
};

/// The points of `run`, which all have one workload. `metric`: one that it reports, "" = its first. Throws UsageError
/// with the nearest name when the workload has none of that name.
Scan scan_of(const RunResult& run, const std::string& metric);

/// Throws UsageError as scan_of() does: before anything is measured.
void require_metric(const WorkloadInfo& info, const std::string& metric, const Workload& workload);

/// The best point; nothing where none has a value.
Answer scan_answer(const Scan& scan);
Text scan_text(const Scan& scan, const Terminal& terminal);
std::string scan_markdown(const Scan& scan);
/// A header, and a line per point; SI values.
std::string scan_csv(const Scan& scan);
std::string scan_json(const Scan& scan);

}  // namespace headrace::cli
