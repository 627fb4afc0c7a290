// Bring-ups over time: each session as a run that histories and comparisons take.
#pragma once

#include <string>
#include <vector>

#include "harness/bringup/record.h"
#include "harness/results/run_file.h"

namespace headrace::bringup {

/// Sessions in which a pair was measured, oldest first; each has one point, "bringup", with the usual rate, latency and
/// share of segments sent again, and what each node and pair reached of the usual rate. `path`: of the record.
std::vector<results::StoredRun> as_runs(const Record& record, const std::string& path);

/// The same of bringup.json. Throws UsageError: "cluster/bringup.json:3:7: ...".
std::vector<results::StoredRun> runs_in(const std::string& path);

}  // namespace headrace::bringup
