// Whole runs of GPU workloads on GPUs that are host memory.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/loader.h"
#include "harness/engine/engine.h"
#include "tests/unit/host_gpu.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::testing {

struct GpuRun : ::testing::Test {
  void SetUp() override { stop_signal = 0; }

  /// Runs each of `entries` ("use: h2d, size: 1MiB") `looks` times, the GPUs behaving as `settings`
  /// says.
  RunResult run(const std::vector<std::string>& entries, const std::string& more = "", const std::string& job = "") {
    auto backend = std::make_unique<HostGpuBackend>(settings);
    gpus = backend.get();
    node.backends().replace_gpu(std::move(backend));
    std::string config = "schema: 1\nname: test\ntarget: {path: " + (folder / "scratch") + ", max_write: 1GiB}\n" +
                         more + "workloads:\n";
    for (const std::string& entry : entries)
      config += "  - {" + entry + ", repeat: {looks: [" + std::to_string(looks) + "], budget: 60s}}\n";
    folder.write("config.yaml", config);
    PlanOptions options;
    options.config_file = folder / "config.yaml";
    options.job_file = job;
    plan = make_plan(options);
    return run_plan(plan, node, observer,
                    {.stall_s = 60, .grace_s = 10, .live_s = 1, .confirm_rest_s = 0, .mind_neighbours = false});
  }
  PointResult run_one(const std::string& entry) { return run({entry}).points.at(0); }

  /// Of the first repetition that counts; NaN when it was not reported.
  static double metric(const PointResult& point, std::string_view name) {
    for (const MetricSummary& m : point.metrics) {
      if (m.name == name) return m.values.front();
    }
    return std::nan("");
  }
  static bool has(const PointResult& point, std::string_view name) { return !std::isnan(metric(point, name)); }
  static bool noted(const PointResult& point, std::string_view text) {
    for (const std::string& note : point.notes) {
      if (note.find(text) != std::string::npos) return true;
    }
    return false;
  }

  unsigned looks = 3;  // repetitions
  TemporaryFolder folder;
  HostBackendSettings settings;
  Node node{folder / "scratch"};
  HostGpuBackend* gpus = nullptr;
  RunObserver observer;
  Plan plan;
};

}  // namespace headrace::testing
