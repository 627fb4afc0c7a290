// A finished run judged again, from its run.json and nothing else.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/verdict/answers.h"
#include "harness/judge/verdict/verdict.h"

namespace headrace::results {

/// The record of a run, for judging.
struct RecordedRun {
  std::string name;
  std::vector<judging::RecordedPoint> points;
  unsigned nodes = 1;  // that measured together, at most
  int signal = 0;      // that ended it
};

/// The run from a run folder or its run.json. Throws UsageError as read_run_file does.
RecordedRun read_recorded_run(const std::string& path);

struct Replay {
  std::vector<Judgement> judgements;  // worst first
  Summary summary;
  std::vector<std::string> differences;  // from the file; empty = the verdict follows from the record
};

/// The replay of a run folder or its run.json. Throws UsageError as read_run_file does, and when the file is of a
/// headrace that did not record the questions.
Replay replay(const std::string& path);

}  // namespace headrace::results
