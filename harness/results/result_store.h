// Writes a run folder: each file whole or not at all (written aside, then renamed).
#pragma once

#include <string>
#include <vector>

#include "harness/base/files/marked_folder.h"
#include "harness/engine/run_result.h"

namespace headrace::results {

struct StoredRun;

/// Schema number of run.json and verdict.json; readers refuse another one.
inline constexpr int kSchema = 1;

/// Writes all run files into `folder`: run.json, config.resolved.yaml, env.json, gbench.json, junit.xml, headrace.prom,
/// results.csv. When all of them are there, it writes verdict.json. Returns their names. Throws RunError.
std::vector<std::string> write_run(const RunResult& run, const MarkedFolder& folder);

/// The run as its readers have it, from `folder`; nullptr: from memory, as no file was written.
StoredRun stored_run(const RunResult& run, const MarkedFolder* folder);

/// The texts themselves, for `--format` and tests.
std::string run_json(const RunResult& run);
std::string verdict_json(const RunResult& run);
std::string env_json(const RunResult& run);

}  // namespace headrace::results
