// A finished run judged again, from what its run.json holds and nothing else.
#pragma once

#include <string>
#include <vector>

#include "harness/verdict/verdict.h"

namespace headrace::results {

struct Replay {
  std::vector<Judgement> judgements;  // worst first
  Summary summary;
  std::vector<std::string> differences;  // from what the file says; empty = the verdict follows from what was recorded
};

/// Of a run folder or its run.json. Throws UsageError as read_run_file does, and when the file is
/// of a headrace that did not record what was asked.
Replay replay(const std::string& path);

}  // namespace headrace::results
