// A small made-up run with everything in it that a run file can hold: the source of
// tests/golden/run.json.
#pragma once

#include "harness/engine/run_result.h"
#include "tests/unit/scripted_workload.h"

namespace headrace::testing {

/// The result points into the plan: keep both.
struct FixedRun {
  ScriptedPlan plan;
  RunResult result;

  FixedRun();

 private:
  Repetition repetition(unsigned index, double rate) const;
  void measured_point();
  void skipped_point();
  void judged();
};

}  // namespace headrace::testing
