// The output of a finished run on standard output: measured values, needs and verdicts, the next step, the files.
#pragma once

#include <optional>
#include <span>

#include "benches/headrace/answer.h"
#include "benches/headrace/text.h"
#include "benches/headrace/verb.h"
#include "harness/engine/run_result.h"

namespace headrace::cli {

/// The measured values of every point: its workload's own metrics with interval or range.
Text measured_text(const RunResult& run, const Shared& shared);

/// "left out: 2 files (hidden)": files of the user's data set that loaders do not read either.
Text left_out_line(const std::string& why, std::uint64_t count);

/// `gpus_fed` of `gpus`: by a sizing of the run; nothing = it gives none. Empty where nothing was asked.
Answer answer_of(const RunResult& run, std::optional<double> gpus_fed, double gpus);

/// One line per judged need, worst first; explanation and next step for each that did not pass.
Text verdict_text(const RunResult& run, const Shared& shared);

/// "VERDICT FAIL needs=9 pass=7 fail=1 inconclusive=1 skipped=0 error=0 exit=10": always the last line. Where parts are
/// slow among their like they are named before the exit code: bad="node node3, link node2 to node4".
Text last_line(const Summary& summary, std::span<const Judgement> judgements);

}  // namespace headrace::cli
