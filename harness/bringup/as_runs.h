// Bring-ups over time: each session as a run that histories and comparisons take.
#pragma once

#include <string>
#include <vector>

#include "harness/bringup/record.h"
#include "harness/results/run_file.h"

namespace headrace::bringup {

/// Sessions in which a pair was measured, oldest first. Each has one point, "bringup", with the usual rate, latency and
/// share of resent segments. It also has the share of the usual rate of each node and pair. `path`: of the record.
std::vector<results::StoredRun> as_runs(const Record& record, const std::string& path);

/// The same of bringup.json. Throws UsageError: "cluster/bringup.json:3:7: ...".
std::vector<results::StoredRun> runs_in(const std::string& path);

}  // namespace headrace::bringup
