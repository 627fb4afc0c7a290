#include "harness/engine/plan/benchmark/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "harness/base/diagnostics.h"
#include "harness/engine/explain/rules_kept.h"
#include "harness/engine/plan/benchmark/checkpoints.h"
#include "tests/unit/source_dir.h"

namespace headrace::benchmark_rules_test {
namespace {

using Kept = std::map<std::string, bool>;

Kept kept(const std::vector<RuleCheck>& checks) {
  Kept all;
  for (const RuleCheck& c : checks) all[c.rule] = c.kept;
  return all;
}

job::Job resnet() {
  job::Job job;
  job.step.time = 0.224;
  job.step.micro_batch = 400;
  job.step.target_utilization = 0.9;
  job.dataset.sample_size = 114660.07;
  job.dataset.samples_per_file = 1251;
  return job;
}
constexpr RehearsedAs kFull{.batch = 400, .step_s = 0.224, .data_bytes = 500e9, .host_memory = 100e9};

TEST(BenchmarkRulesTest, EachIsKeptByItsTermsAndByNothingLess) {
  EXPECT_EQ(kept(check_planned("mlperf-v2", resnet(), kFull)),
            (Kept{{"workload", true}, {"batch", true}, {"prefetch", true}, {"data_set", true}}));
  RehearsedAs smaller = kFull;
  smaller.data_bytes = 499e9;
  smaller.batch = 399;
  EXPECT_EQ(kept(check_planned("mlperf-v2", resnet(), smaller)),
            (Kept{{"workload", true}, {"batch", false}, {"prefetch", true}, {"data_set", false}}));
  smaller = kFull;
  smaller.host_memory = 0;  // not known
  smaller.step_s = 0.112;
  EXPECT_EQ(kept(check_planned("mlperf-v2", resnet(), smaller)),
            (Kept{{"workload", true}, {"batch", false}, {"prefetch", true}, {"data_set", false}}));
  job::Job other = resnet();
  other.step.target_utilization = 0.7;
  EXPECT_FALSE(kept(check_planned("mlperf-v2", other, kFull))["workload"]) << "an easier target is not the benchmark's";
  other = resnet();
  other.dataset.sample_size = 100e3;
  EXPECT_FALSE(kept(check_planned("mlperf-v2", other, kFull))["workload"]);
  other = resnet();
  other.dataset.samples_per_file = 1;
  EXPECT_FALSE(kept(check_planned("mlperf-v2", other, kFull))["workload"]);
  other = resnet();
  other.loader.prefetch_factor = 3;
  EXPECT_EQ(kept(check_planned("mlperf-v2", other, kFull)),
            (Kept{{"workload", true}, {"batch", true}, {"prefetch", false}, {"data_set", true}}));
}

TEST(BenchmarkRulesTest, OfVersionThreeSomeWorkloadsAreForPlanningAlone) {
  EXPECT_EQ(kept(check_planned("mlperf-v3", resnet(), kFull)),
            (Kept{{"workload", true}, {"taken", false}, {"batch", true}, {"prefetch", true}, {"data_set", true}}));
  job::Job retinanet = resnet();
  retinanet.step.time = 0.04755;
  retinanet.step.micro_batch = 24;
  retinanet.step.target_utilization = 0.85;
  retinanet.dataset.sample_size = 322957;
  retinanet.dataset.samples_per_file = 1;
  const RehearsedAs as{.batch = 24, .step_s = 0.04755, .data_bytes = 500e9, .host_memory = 100e9};
  EXPECT_EQ(kept(check_planned("mlperf-v3", retinanet, as)),
            (Kept{{"workload", true}, {"taken", true}, {"batch", true}, {"prefetch", true}, {"data_set", true}}));
  EXPECT_FALSE(kept(check_planned("mlperf-v2", retinanet, as))["workload"]) << "another version's";
}

/// The jobs that are shipped are the benchmark's, with nothing but what the plan alone breaks.
TEST(BenchmarkRulesTest, ShippedJobsAreTheWorkloadsOfTheirVersion) {
  int trained = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/configs/jobs")) {
    const std::string name = file.path().stem();
    if (!name.starts_with("mlperf-") || name.starts_with("mlperf-checkpoint-")) continue;
    ++trained;
    const job::Job job = job::load_job(file.path(), {});
    const std::string version = name.ends_with("h100") ? "mlperf-v2" : "mlperf-v3";
    const RehearsedAs as{
        .batch = job.step.micro_batch, .step_s = job.step.time, .data_bytes = 500e9, .host_memory = 100e9};
    for (const RuleCheck& check : check_planned(version, job, as))
      EXPECT_TRUE(check.kept ||
                  (check.rule == "taken" && (name.starts_with("mlperf-dlrm") || name.starts_with("mlperf-flux"))))
          << name << ": " << check.reported;
  }
  EXPECT_EQ(trained, 10);
}

TEST(BenchmarkRulesTest, OtherNamesAreRefused) {
  EXPECT_NO_THROW(check_rules_name("mlperf-v2"));
  EXPECT_NO_THROW(check_rules_name("mlperf-v3"));
  EXPECT_THROW(check_rules_name("mlperf-v4"), UsageError);
}

MetricSummary metric(const char* name, std::vector<double> values) {
  MetricSummary m;
  m.name = name;
  m.values = std::move(values);
  return m;
}

PointResult measured(std::vector<double> utilization, std::vector<double> steps, unsigned cold) {
  PointResult point;
  for (unsigned i = 0; i < utilization.size(); ++i) {
    Repetition r;
    r.cache.required = true;
    r.cache.proven = i < cold;
    point.repetitions.push_back(r);
  }
  point.metrics.push_back(metric("steps", std::move(steps)));
  point.metrics.push_back(metric("accelerator_utilization", std::move(utilization)));
  return point;
}

TEST(BenchmarkRulesTest, MeasurementsKeepOrBreakEach) {
  using engine::check_measured;
  // The first step, which no metric counts, is one of the 500.
  EXPECT_EQ(kept(check_measured(measured({.91, .92, .9, .91, .9}, {499, 600, 499, 499, 499}, 5), 0.9)),
            (Kept{{"steps", true}, {"runs", true}, {"caches", true}, {"utilization", true}, {"replicated", true}}));
  EXPECT_EQ(
      kept(check_measured(measured({.99, .8, .9, .89}, {499, 498, 499, 499}, 3), 0.9)),
      (Kept{{"steps", false}, {"runs", false}, {"caches", false}, {"utilization", false}, {"replicated", false}}));
  const PointResult nothing;
  EXPECT_EQ(
      kept(check_measured(nothing, 0.9)),
      (Kept{{"steps", false}, {"runs", false}, {"caches", false}, {"utilization", false}, {"replicated", false}}));
}

job::Job saving(const char* model) {
  return job::load_job(source_dir() + "/configs/jobs/mlperf-checkpoint-" + model + ".yaml", {});
}

TEST(BenchmarkCheckpointsTest, ShippedJobsAreTheModelsOfBothVersions) {
  for (const char* version : {"mlperf-v2", "mlperf-v3"})
    for (const char* model : {"llama3-8b", "llama3-70b", "llama3-405b", "llama3-1t"}) {
      const job::Job job = saving(model);
      ASSERT_NE(benchmark_model(version, job), nullptr) << model;
      EXPECT_EQ(kept(check_planned_saves(version, job, {.hosts = job.cluster.nodes, .ranks_on_host = 8})),
                (Kept{{"workload", true}, {"ranks", true}, {"ranks_on_host", true}}))
          << version << " " << model;
    }
  job::Job other = saving("llama3-8b");
  other.model.hidden = 4095;
  EXPECT_EQ(benchmark_model("mlperf-v2", other), nullptr);
  other = saving("llama3-8b");
  other.checkpoint.reset();
  EXPECT_EQ(benchmark_model("mlperf-v2", other), nullptr) << "it saves nothing";
}

TEST(BenchmarkCheckpointsTest, AnotherSizeShardingOrModeIsNotTheBenchmarks) {
  const auto own = [](const job::Job& job) {
    return kept(check_planned_saves("mlperf-v2", job, {.hosts = 8, .ranks_on_host = 8}))["workload"];
  };
  const job::Job job = saving("llama3-70b");
  ASSERT_TRUE(own(job));
  job::Job other = job;
  other.checkpoint->bytes_per_parameter = 12;
  EXPECT_FALSE(own(other));
  other = job;
  other.checkpoint->async = true;
  EXPECT_FALSE(own(other));
  other = job;
  other.parallelism.tensor = 4;
  EXPECT_FALSE(own(other));
  other = job;
  other.parallelism.sharding = job::Sharding::zero1;
  EXPECT_FALSE(own(other));
}

TEST(BenchmarkCheckpointsTest, OneHostRepresentsAllIfTheVersionAllowsIt) {
  const auto on = [](const char* version, const char* model, double hosts, double ranks) {
    return kept(check_planned_saves(version, saving(model), {.hosts = hosts, .ranks_on_host = ranks}));
  };
  EXPECT_TRUE(on("mlperf-v2", "llama3-70b", 1, 8)["ranks"]);
  EXPECT_FALSE(on("mlperf-v3", "llama3-70b", 1, 8)["ranks"]) << "of 3.0 the smallest alone";
  EXPECT_TRUE(on("mlperf-v3", "llama3-8b", 1, 8)["ranks"]);
  EXPECT_FALSE(on("mlperf-v2", "llama3-70b", 2, 8)["ranks"]) << "neither all nor one host";
  EXPECT_FALSE(on("mlperf-v2", "llama3-70b", 1, 64)["ranks"] == on("mlperf-v2", "llama3-70b", 1, 63)["ranks"]);
  EXPECT_FALSE(on("mlperf-v2", "llama3-70b", 16, 4)["ranks_on_host"]) << "more than four";
  EXPECT_TRUE(on("mlperf-v2", "llama3-8b", 2, 5)["ranks_on_host"]);
}

PointResult checkpoints(const Point& point, unsigned count, std::uint64_t bytes, unsigned cold) {
  PointResult result;
  result.point = &point;
  for (unsigned i = 0; i < count; ++i) {
    Repetition r;
    PhaseResult phase;
    phase.bytes = bytes;
    r.phases.push_back(phase);
    r.cache.required = true;
    r.cache.proven = i < cold;
    result.repetitions.push_back(r);
  }
  return result;
}

TEST(BenchmarkCheckpointsTest, MeasurementsKeepOrBreakEach) {
  using engine::check_measured_saves;
  Point synced, unsynced;
  synced.params["durability"] = std::string("fsync");
  unsynced.params["durability"] = std::string("none");
  const PointResult saves = checkpoints(synced, 10, 1000, 0), reads = checkpoints(synced, 10, 1000, 10);
  EXPECT_EQ(kept(check_measured_saves(&saves, &reads, 1000)),
            (Kept{{"size", true}, {"saves", true}, {"reads", true}, {"fsync", true}, {"caches", true}}));
  const PointResult few = checkpoints(unsynced, 9, 900, 0), warm = checkpoints(synced, 11, 1000, 10);
  EXPECT_EQ(kept(check_measured_saves(&few, &warm, 1000)),
            (Kept{{"size", false}, {"saves", false}, {"reads", false}, {"fsync", false}, {"caches", false}}));
  EXPECT_EQ(kept(check_measured_saves(nullptr, &reads, 1000)),
            (Kept{{"size", false}, {"saves", false}, {"reads", true}, {"fsync", false}, {"caches", true}}));
  // One that was replaced, as something else disturbed it, is none of the ten.
  PointResult replaced = checkpoints(synced, 11, 1000, 0);
  replaced.repetitions[3].counted = false;
  replaced.repetitions[3].phases[0].bytes = 1;
  EXPECT_EQ(kept(check_measured_saves(&replaced, &reads, 1000)), kept(check_measured_saves(&saves, &reads, 1000)));
}

}  // namespace
}  // namespace headrace::benchmark_rules_test
