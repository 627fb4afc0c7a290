// What a rehearsal concludes from points that were made up here: which repetitions it listens to.
#include "harness/engine/explain/rehearsal.h"

#include <gtest/gtest.h>

#include "harness/engine/explain/evidence.h"
#include "harness/engine/explain/measured_point.h"
#include "harness/engine/explain/scaling_curves.h"
#include "harness/workload/registry.h"

namespace headrace::engine::rehearsal_test {
namespace {

/// One repetition: a value of each metric, and whether its data came from storage.
struct Taken {
  double value = 0;
  bool proven = true;
};

/// A rehearsal of one GPU that takes 200 samples/s.
struct Made {
  Plan plan;
  std::vector<PointResult> points;

  Made() {
    plan.rehearsal = true;
    plan.job.emplace();
    plan.points.reserve(16);
  }
  Point& add(const std::string& workload, const std::string& label, const std::string& metric,
             const std::vector<Taken>& taken) {
    Point& point = plan.points.emplace_back();
    point.id = workload + "/" + label;
    point.cache = CacheState::cold;
    point.params = {{"batch_size", std::uint64_t{4}},       {"gpus", std::uint64_t{1}},
                    {"batches_per_step", std::uint64_t{1}}, {"step_time", 0.02},
                    {"workers", std::uint64_t{4}},          {"prefetch_factor", std::uint64_t{2}},
                    {"codec", std::string("none")}};
    PointResult& result = points.emplace_back();
    result.point = &point;
    for (const Taken& one : taken) {
      Repetition& r = result.repetitions.emplace_back();
      r.cache = nothing_proven(CacheState::cold);
      r.cache.proven = one.proven;
      r.metrics = {{metric, one.value}};
      if (metric == "accelerator_utilization") {  // the rest of the time the GPU waits for reads
        r.metrics.push_back({"stall_fraction", 1 - one.value});
        r.metrics.push_back({"reading_share", 1});
        r.metrics.push_back({"sample_rate", 200 * one.value});
      }
    }
    const std::vector<MetricInfo> catalogue{{.name = metric, .unit = "1/s", .description = ""}};
    result.status = PointStatus::ok;
    summarize_metrics(catalogue, result);
    return point;
  }
  /// Storage gives 150 samples/s, memory 14,000.
  void add_all(const std::vector<Taken>& whole, const std::vector<Taken>& loader, const std::vector<Taken>& doubled) {
    add("input_pipeline", "job", "accelerator_utilization", whole);
    add("input_pipeline", "no-step", "sample_rate", loader);
    add("input_pipeline", "double-workers", "sample_rate", doubled);
    add("input_pipeline", "in-memory", "sample_rate", {{14'000}, {14'100}});
    add("small_file_read", "job", "sample_rate", {{151}, {152}});
  }
  Rehearsal rehearsed() const { return rehearsal_of(plan, points).value(); }
};

const std::vector<Taken> kWhole{{0.75}, {0.76}}, kLoader{{151}, {152}};

TEST(Rehearsal, ARepetitionThatMemoryServedIsNoCounterExperiment) {
  Made made;
  made.add_all(kWhole, kLoader, {{161}, {14'500, false}});
  const Rehearsal r = made.rehearsed();
  EXPECT_EQ(r.rates.more_workers->high, 161);
  EXPECT_EQ(r.proof.limit, Limit::storage) << r.proof.sentence;
  EXPECT_EQ(r.not_cold, std::vector<std::string>{"input_pipeline/double-workers"});
}

TEST(Rehearsal, BoundsAreNoCloserThanRealLoadersDiffer) {
  Made made;
  made.add_all(kWhole, kLoader, {{161}});
  const Rehearsal r = made.rehearsed();
  EXPECT_NEAR(r.utilization.high, 1.03 * 0.755, 1e-9);
  ASSERT_TRUE(r.predicted);
  const Estimate& predicted = r.predicted->utilization;
  EXPECT_NEAR(predicted.low, 0.97 * predicted.value, 1e-9);
  EXPECT_NEAR(predicted.high, 1.03 * predicted.value, 1e-9);
  Made fed;
  fed.add_all({{0.99}, {0.99}}, {{400}, {410}}, {{800}});
  EXPECT_EQ(fed.rehearsed().utilization.high, 1) << "of the time";
}

/// The loader alone gives about what GPUs take, as short repetitions have what was read ahead.
TEST(Rehearsal, GpusThatWaitedAreNotFed) {
  Made made;
  made.add_all({{0.80}, {0.81}}, {{189}, {199}}, {{190}, {191}});
  EXPECT_EQ(made.rehearsed().proof.limit, Limit::storage) << made.rehearsed().proof.sentence;
  Made fed;
  fed.add_all({{0.80}, {0.96}}, {{189}, {199}}, {{190}, {191}});
  EXPECT_EQ(fed.rehearsed().proof.limit, Limit::unknown) << "in one repetition they did not wait";
}

/// Batches of 4 stand for 16: they fill the pipeline in a quarter of the time.
TEST(Rehearsal, AnEpochBeginsWithTheFillOfThePipeline) {
  Made made;
  made.plan.job->step.time = 0.02;
  made.plan.job->step.micro_batch = 16;
  made.add_all(kWhole, kLoader, {{161}, {162}});
  made.plan.points.front().params["epoch_steps"] = std::uint64_t{100};
  for (Repetition& r : made.points.front().repetitions) r.metrics.push_back({"first_step_wait_s", 0.25});
  EXPECT_FALSE(made.rehearsed().wall_clock) << "an epoch's wall clock was not measured";
  for (Repetition& r : made.points.front().repetitions) r.metrics.push_back({"wall_clock_utilization", 0.7});
  const Rehearsal r = made.rehearsed();
  ASSERT_TRUE(r.wall_clock);
  EXPECT_EQ(r.wall_clock->steps, 100);
  EXPECT_NEAR(r.wall_clock->fill_s, 1, 1e-9);
  EXPECT_NEAR(r.wall_clock->utilization, 0.7, 1e-9);
  EXPECT_NEAR(r.wall_clock->by_rule, 0.755, 1e-9);
}

TEST(Rehearsal, WithoutAnyProvenRepetitionNoLimitIsNamed) {
  Made doubled, loader;
  doubled.add_all(kWhole, kLoader, {{14'000, false}, {14'500, false}});
  EXPECT_EQ(doubled.rehearsed().proof.limit, Limit::unknown) << doubled.rehearsed().proof.sentence;
  loader.add_all(kWhole, {{14'000, false}, {14'100, false}}, {{161}, {162}});
  EXPECT_EQ(loader.rehearsed().proof.limit, Limit::unknown) << "not that the GPUs limit";
  EXPECT_NE(loader.rehearsed().proof.sentence.find("input_pipeline/no-step may have read from memory"),
            std::string::npos);
}

TEST(Rehearsal, OfAPipelineThatMemoryServedTheValueIsReportedAndNothingConcluded) {
  Made made;
  made.add_all({{1, false}, {0.99, false}}, kLoader, {{161}, {162}});
  const Rehearsal r = made.rehearsed();
  EXPECT_NEAR(r.utilization.value, 0.995, 1e-9);
  EXPECT_FALSE(r.predicted) << "it would be compared with what memory gave";
  EXPECT_EQ(r.proof.limit, Limit::storage) << "by the counter-experiments alone: " << r.proof.sentence;
}

TEST(Rehearsal, APredictionStartsFromProvenRatesAlone) {
  Made made;
  made.add_all(kWhole, kLoader, {{161}, {162}});
  EXPECT_NEAR(made.rehearsed().storage_alone.value, 151.5, 1e-9);
  for (Repetition& r : made.points.back().repetitions) r.cache.proven = false;
  EXPECT_FALSE(made.rehearsed().predicted);
}

TEST(Rehearsal, APredictionIsOfAnEpochAndNotOfItsBegin) {
  Made made;
  made.add_all(kWhole, kLoader, {{161}, {162}});
  PointResult& alone = made.points.back();
  for (Repetition& r : alone.repetitions) {  // a hundredth of the data, twice as fast in its second half
    PhaseResult& phase = r.phases.emplace_back();
    phase.elapsed_s = phase.first_finish_s = 2;
    phase.operations = 300;
    phase.bytes = 1'000'000;
    for (int i = 0; i < 10; ++i)
      phase.series.push_back({.time_s = 0.1 + 0.2 * i, .operations_per_s = i < 5 ? 100.0 : 200.0});
  }
  EXPECT_NEAR(made.rehearsed().storage_alone.value, 151.5, 1e-9);  // how much data there is, is not known
  alone.first_touch.needed_bytes = 100'000'000;
  const Rehearsal r = made.rehearsed();
  EXPECT_NEAR(r.storage_alone.value, 151.5 / (0.01 + 0.99 * 0.75), 1e-9);
  EXPECT_NEAR(r.storage_alone.low, 151, 1e-9);
  EXPECT_NEAR(r.storage_alone.high, 152 * 4 / 3.0, 1e-9);
  alone.repetitions.front().cache.proven = false;
  EXPECT_NEAR(made.rehearsed().storage_alone.low, 152, 1e-9);
}

TEST(Rehearsal, TuningHasNoUnprovenNumberOfWorkers) {
  Made made;
  made.add_all(kWhole, kLoader, {{161}, {162}});
  made.add("input_pipeline", "workers-1", "accelerator_utilization", {{1, false}, {0.99, false}}).params["workers"] =
      std::uint64_t{1};
  made.add("input_pipeline", "workers-8", "accelerator_utilization", {{0.95}, {0.96}}).params["workers"] =
      std::uint64_t{8};
  const Rehearsal r = made.rehearsed();
  ASSERT_TRUE(r.tuning);
  for (const TriedLoader& one : r.tuning->tried) EXPECT_NE(one.workers, 1);
  ASSERT_TRUE(r.tuning->advised);
  EXPECT_EQ(r.tuning->advised->workers, 8);
  EXPECT_EQ(describe(r).front(), r.tuning->reported.front()) << "the answer comes first";
}

TEST(Rehearsal, WhereNothingCountsWhatStorageGaveTuningSaysSo) {
  Made made;
  made.add_all({{0.75, false}, {0.76, false}}, kLoader, {{161}, {162}});
  made.add("input_pipeline", "workers-8", "accelerator_utilization", {{0.95, false}, {0.96, false}}).params["workers"] =
      std::uint64_t{8};
  EXPECT_FALSE(made.rehearsed().tuning->advised) << "it may have come from the page cache";
  for (PointResult& point : made.points)
    for (Repetition& r : point.repetitions) {
      r.cache.counter.clear();
      r.cache.resident_before = 0;
    }
  const Rehearsal r = made.rehearsed();
  ASSERT_TRUE(r.tuning->advised);
  EXPECT_NE(r.tuning->reported.back().find("cannot be proven here"), std::string::npos) << r.tuning->reported.back();
}

TEST(Rehearsal, ADecoderThatNoFrameworkHasDoesNotShowThatGpusLimit) {
  Made made;
  made.add_all({{0.99}, {0.99}}, {{400}, {400}}, {{800}, {800}});
  EXPECT_EQ(made.rehearsed().proof.limit, Limit::gpus);
  made.plan.points.front().params["codec"] = std::string("jpeg");
  for (Repetition& r : made.points.front().repetitions) r.metrics.push_back({"decode_headroom", 1.5});
  const std::vector<MetricInfo> catalogue{{.name = "accelerator_utilization", .unit = "ratio", .description = ""},
                                          {.name = "decode_headroom", .unit = "ratio", .description = ""}};
  summarize_metrics(catalogue, made.points.front());
  const Rehearsal r = made.rehearsed();
  EXPECT_EQ(r.proof.limit, Limit::unknown) << r.proof.sentence;
  EXPECT_EQ(r.decode_headroom, 1.5);
}

TEST(ScalingCurves, PointsThatMemoryServedAreOnNone) {
  static const std::vector<Metric> metrics{
      {.name = "read_bandwidth", .unit = "B/s", .better = Better::higher, .description = ""}};
  static const WorkloadInfo info{.name = "shard_stream", .description = "", .metrics = metrics, .make = nullptr};
  Made made;
  for (const auto& [clients, rate, proven] :
       {std::tuple(1u, 1e9, true), std::tuple(2u, 2e9, true), std::tuple(4u, 40e9, false)}) {
    Point& point = made.add("shard_stream", std::to_string(clients), "read_bandwidth", {{rate, proven}});
    point.info = &info;
    point.clients = clients;
  }
  const std::vector<ScalingCurve> curves = scaling_curves(made.points);
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].at.size(), 2u);
  EXPECT_EQ(curves[0].most, 2e9);
}

}  // namespace
}  // namespace headrace::engine::rehearsal_test
