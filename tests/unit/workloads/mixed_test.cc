// Reads at a fixed rate before, while and after a checkpoint is saved, through the engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "harness/backends/loader.h"
#include "harness/engine/engine.h"
#include "tests/unit/workload_runner.h"

namespace headrace::mixed_test {
namespace {

using testing::problems_of;
using testing::TemporaryFolder;

class MixedTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    stop_signal = 0;
    if (const std::string why = node_.backends().why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  PointResult run(const std::string& more, const std::string& rate = "500/s") {
    folder_.write("config.yaml", "schema: 1\ntarget: {path: " + (folder_ / "scratch") +
                                     "}\nworkloads:\n  - {use: mixed, cache: asis, verify: true, "
                                     "repeat: 1, around: 100ms, workers: 2, rate: " +
                                     rate +
                                     ", "
                                     "checkpoint_shard_size: 3MB, engine: " +
                                     GetParam() + ", checkpoint_engine: " + GetParam() + ", " + more + "}\n");
    PlanOptions options;
    options.config_file = folder_ / "config.yaml";
    plan_ = make_plan(options);
    RunObserver nobody;
    const EngineLimits limits{.mind_neighbours = false};
    return run_plan(plan_, node_, nobody, limits).points.at(0);
  }
  static double metric(const PointResult& point, std::string_view name) {
    for (const MetricSummary& m : point.metrics)
      if (m.name == name) return m.median;
    ADD_FAILURE() << "no " << name;
    return 0;
  }

  TemporaryFolder folder_;
  Node node_{folder_ / "scratch"};
  Plan plan_;
};

TEST_P(MixedTest, ReadsGoOnWhileACheckpointIsSaved) {
  const PointResult point = run("files: 4000, file_size: 4KiB");
  ASSERT_EQ(point.status, PointStatus::ok) << point.reason;
  EXPECT_TRUE(point.verified && point.wrong_blocks.empty());
  const Repetition& repetition = point.repetitions.at(0);
  ASSERT_EQ(repetition.phases.size(), 3u);
  for (const PhaseResult& phase : repetition.phases) {
    EXPECT_EQ(phase.errors, 0u);
    EXPECT_EQ(phase.bytes, phase.operations * 4096) << phase.name;
    EXPECT_EQ(phase.background.has_value(), phase.name == "during");
    EXPECT_EQ(phase.parts.back().total(), phase.operations);
    const std::string name = phase.name;
    EXPECT_EQ(metric(point, name + "_read_rate") > 0, phase.operations > 0);
    EXPECT_LE(metric(point, name + "_latency_p50_ns"), metric(point, name + "_latency_p99_ns"));
  }
  // As many reads as are due, before and after; while it is saved, as many as the save takes.
  EXPECT_EQ(repetition.phases[0].operations, 50u);
  EXPECT_EQ(repetition.phases[2].operations, 50u);
  const BackgroundResult& save = *repetition.phases[1].background;
  EXPECT_EQ(save.bytes, 6'000'000u);
  const double save_s = metric(point, "time_to_durable_s");
  EXPECT_DOUBLE_EQ(metric(point, "durable_bandwidth"), 6e6 / save_s);
  EXPECT_GE(save.end_s - save.begin_s, 0.999 * save_s);
  EXPECT_DOUBLE_EQ(metric(point, "latency_p99_ratio"),
                   metric(point, "during_latency_p99_ns") / metric(point, "before_latency_p99_ns"));
}

TEST_P(MixedTest, APercentileNeedsEnoughReadsOfItsPhase) {
  const PointResult point = run("files: 4000, file_size: 4KiB", "100/s");
  ASSERT_EQ(point.status, PointStatus::ok) << point.reason;
  for (const MetricSummary& m : point.metrics) {
    // 10 reads before, 10 after: enough for the median of all, not for that of one.
    const bool of_one = m.name == "before_latency_p50_ns" || m.name == "after_latency_p50_ns";
    EXPECT_TRUE(m.too_few_operations || !of_one) << m.name;
    EXPECT_FALSE(m.too_few_operations && m.name == "latency_p50_ns");
  }
}

TEST_P(MixedTest, SaysWhenTheUsersFilesAreTooFew) {
  for (int i = 0; i < 12; ++i) folder_.write("data/f" + std::to_string(i), "a sample");
  const PointResult point = run("path: " + (folder_ / "data"));
  EXPECT_EQ(point.status, PointStatus::error);
  EXPECT_NE(point.reason.find("has 12 files, and 50 are read in 0.1 s"), std::string::npos) << point.reason;
}

INSTANTIATE_TEST_SUITE_P(Engines, MixedTest, ::testing::Values("posix", "io_uring"),
                         [](const auto& info) { return std::string(info.param); });

TEST(MixedParamsTest, RejectsInvalidParameters) {
  EXPECT_EQ(problems_of("mixed", "files: 100\nrate: 50/s\n"),
            "test.yaml:1:8: mixed: files: 250 files are read in 5 s at 50/s: give as many, or fewer "
            "seconds in `around`\n");
  EXPECT_EQ(problems_of("mixed", "files: 250\nrate: 50/s\n"), "");
  EXPECT_NE(problems_of("mixed", "checkpoint_engine: mmap\n").find("checkpoint_engine"), std::string::npos);
  EXPECT_NE(problems_of("mixed", "ramp: true\n").find("unknown key 'ramp'"), std::string::npos);
}

TEST(MixedParamsTest, NeedIsTheJobsIngestInFilesOfThisSize) {
  Diagnostics problems;
  const config::Value entry = config::parse_yaml("rate: need\nfile_size: 1MiB\n", "test.yaml", problems);
  const std::map<std::string, double> needed{{"shard_stream.read_bandwidth", 99.0 * (1 << 20)},
                                             {"small_file_read.open_rate", 3.0}};
  Params params("mixed", entry, problems, &needed);
  Registry::instance().find("mixed")->make(params);
  EXPECT_TRUE(problems.empty());
  EXPECT_NEAR(std::get<double>(params.resolved().at("rate")), 100, 1e-9);
}

}  // namespace
}  // namespace headrace::mixed_test
