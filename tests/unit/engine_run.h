// A run of scripted workloads from plan to result, with no rests and patience for a busy machine.
#pragma once

#include <gtest/gtest.h>

#include "harness/engine/engine.h"
#include "tests/unit/scripted_workload.h"

namespace headrace::testing {

inline EngineLimits patient_limits() {
  return {.stall_s = 60, .grace_s = 60, .live_s = 0.01, .confirm_rest_s = 0.01, .mind_neighbours = false};
}

struct EngineRun : ::testing::Test {
  void SetUp() override { stop_signal = 0; }
  void TearDown() override { stop_signal = 0; }

  RunResult run() { return run_plan(plan.plan, node, observer, limits); }
  const PointResult& only(const RunResult& r) { return r.points.at(0); }

  ScriptedPlan plan;
  Node node{"no-such-folder"};
  RunObserver observer;
  EngineLimits limits = patient_limits();
};

}  // namespace headrace::testing
