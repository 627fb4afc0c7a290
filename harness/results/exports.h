// A finished run in the formats of other tools. All of them are made from run.json alone, so that
// `headrace export` gives later what the run folder got.
#pragma once

#include <string>
#include <string_view>

#include "harness/results/run_file.h"

namespace headrace::results {

/// Google Benchmark's JSON; its stock tools/compare.py reads it.
std::string gbench_json(const StoredRun& run);

/// Bencher metric format: each point with its metrics as measures, value and bounds.
std::string bmf_json(const StoredRun& run);

/// What JUnit, which knows no such outcome, is told of a need that is INCONCLUSIVE.
enum class JunitInconclusive { error, failure, skipped };
/// One suite per workload, one case per need.
std::string junit_xml(const StoredRun& run, JunitInconclusive inconclusive = JunitInconclusive::error);

/// Prometheus text file for the node exporter's textfile collector.
std::string prometheus_text(const StoredVerdict& verdict);

/// Long form: one value per row.
std::string csv(const StoredRun& run);

/// A Nagios plugin's output: one line for people, then performance data per measured need with the
/// ranges that would alert (thin: warning, missed: critical).
std::string nagios_text(const StoredVerdict& verdict);

}  // namespace headrace::results
