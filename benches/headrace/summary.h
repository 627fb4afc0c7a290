// What a finished run prints on standard output: measured values, needs and verdicts, the next
// step, the files.
#pragma once

#include <string>

#include "benches/headrace/verb.h"
#include "harness/run_result.h"

namespace headrace::cli {

/// The measured values of every point: its workload's own metrics with interval or range.
std::string measured_text(const RunResult& run, const Shared& shared);

/// One line per judged need, worst first; explanation and next step for what did not pass.
std::string verdict_text(const RunResult& run, const Shared& shared);

/// "VERDICT FAIL needs=9 pass=7 fail=1 inconclusive=1 skipped=0 error=0 exit=10": always the last
/// line.
std::string last_line(const Summary& summary);

}  // namespace headrace::cli
