// Writes a run folder: each file whole or not at all (written aside, then renamed).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/run_result.h"

namespace headrace::results {

/// Schema number of run.json and verdict.json; readers refuse another one.
inline constexpr int kSchema = 1;

/// Names of every file that a run folder may hold, report.html too: what `clean` may remove.
std::span<const std::string_view> run_file_names();

/// Writes all run files into `folder` (marked, made by the caller): run.json, verdict.json,
/// config.resolved.yaml, env.json, gbench.json, junit.xml, headrace.prom, results.csv. Returns
/// their names. Throws RunError.
std::vector<std::string> write_run(const RunResult& run, const std::string& folder);

/// The texts themselves, for `--format` and tests.
std::string run_json(const RunResult& run);
std::string verdict_json(const RunResult& run);
std::string env_json(const RunResult& run);

}  // namespace headrace::results
