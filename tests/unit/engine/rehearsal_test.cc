// What a rehearsal concludes from points that were made up here: which repetitions it listens to.
#include "harness/engine/explain/rehearsal.h"

#include <gtest/gtest.h>

#include "harness/engine/explain/evidence.h"
#include "harness/engine/explain/loader_trials.h"
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
  /// In each repetition of a point.
  void set(const std::string& id, const std::string& metric, double value) {
    for (PointResult& p : points)
      if (p.point->id == id)
        for (Repetition& r : p.repetitions) {
          std::erase_if(r.metrics, [&](const MetricValue& m) { return m.name == metric; });
          r.metrics.push_back({metric, value});
        }
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
  Made seldom;
  seldom.add_all({{0.92}, {0.93}}, {{189}, {199}}, {{190}, {191}});
  EXPECT_EQ(seldom.rehearsed().proof.limit, Limit::storage) << "7 % of the time";
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

TEST(Rehearsal, AValueFromMemoryIsReportedWithoutConclusion) {
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

TEST(Rehearsal, TuningTriesThePlannedSettingsAlone) {
  Made made;
  made.add_all(kWhole, kLoader, {{161}, {162}});
  EXPECT_FALSE(made.rehearsed().tuning);
  made.add("input_pipeline", "prefetch-4", "accelerator_utilization", {{0.95}, {0.95}}).params["prefetch_factor"] =
      std::uint64_t{4};
  EXPECT_EQ(made.rehearsed().tuning->advised->prefetch_factor, 4);
}

/// Two nodes of two GPUs each: advice is for one GPU, and rates for one node.
TEST(Rehearsal, TuningIsForOneGpuOfOneNode) {
  Made made;
  made.add_all(kWhole, kLoader, {{161}, {162}});
  made.add("input_pipeline", "workers-8", "accelerator_utilization", {{0.95}, {0.96}}).params["workers"] =
      std::uint64_t{8};
  made.add("input_pipeline", "workers-16", "accelerator_utilization", {{0.95}, {0.96}}).params["workers"] =
      std::uint64_t{16};
  made.add("input_pipeline", "prefetch-4", "accelerator_utilization", {{0.85}, {0.86}}).params["prefetch_factor"] =
      std::uint64_t{4};
  for (Repetition& r : made.points[6].repetitions)  // of 16 workers no rate was measured
    std::erase_if(r.metrics, [](const MetricValue& m) { return m.name == "sample_rate"; });
  for (Point& point : made.plan.points) point.params["gpus"] = std::uint64_t{2};
  for (PointResult& point : made.points) point.processes = 2;
  for (const auto& [name, share] : {std::pair("reading_share", 0.5), {"decoding_share", 0.25}}) {
    MetricSummary& summary = made.points.front().metrics.emplace_back();
    summary.name = name;
    summary.median = share;
  }
  const LoaderTrials trials = loader_trials(made.plan, made.points).value();
  EXPECT_EQ(trials.gpus, 2);
  EXPECT_EQ(trials.workers, (std::vector<double>{4, 8}));
  EXPECT_EQ(trials.prefetch, std::vector<double>{4});
  EXPECT_EQ(trials.own->workers, 2);
  EXPECT_EQ(trials.own->rate, 151.0 / 2);
  ASSERT_EQ(trials.others.size(), 2u);
  EXPECT_EQ(trials.others[0].workers, 4);
  EXPECT_EQ(trials.others[1].prefetch_factor, 4);
  EXPECT_EQ(trials.alone, 151.0 / 2);
  EXPECT_EQ(trials.taken, 400) << "2 GPUs of 4 samples in 20 ms";
  EXPECT_EQ(trials.busy_share, 0.75);
  made.plan.points.front().params["batches_per_step"] = std::uint64_t{3};
  made.plan.points.front().params["cpu_time_per_batch"] = 0.016;
  EXPECT_EQ(made.rehearsed().rates.taken, 2400) << "of both nodes";
  EXPECT_EQ(made.rehearsed().rates.handed, 1000) << "4 processes that take 4 samples in 16 ms";
  made.add("input_pipeline", "no-checkpoint", "utilization_without_saves", {{0.8}, {0.8}});
  made.set("input_pipeline/no-checkpoint", "sample_rate", 160);
  EXPECT_EQ(loader_trials(made.plan, made.points)->own->utilization.value, 0.8) << "saves are no matter of the loader";
  made.points.erase(made.points.begin());
  EXPECT_FALSE(loader_trials(made.plan, made.points)->own) << "the job's setting was not measured yet";
}

TEST(Rehearsal, WithoutCountsOfStorageTuningReportsIt) {
  Made made;
  made.add_all({{0.75, false}, {0.76, false}}, kLoader, {{161}, {162}});
  made.add("input_pipeline", "workers-8", "accelerator_utilization", {{0.95, false}, {0.96, false}}).params["workers"] =
      std::uint64_t{8};
  EXPECT_FALSE(made.rehearsed().tuning->advised) << "it may have come from the page cache";
  for (PointResult& point : made.points)
    for (Repetition& r : point.repetitions) {
      r.cache.counter = "device";
      r.cache.resident_before = 0;
    }
  EXPECT_FALSE(made.rehearsed().tuning->advised) << "the device counted";
  for (PointResult& point : made.points)
    for (Repetition& r : point.repetitions) {
      r.cache.counter.clear();
    }
  for (const double resident : {-1.0, 0.06}) {  // not known; more than other programs' files
    for (PointResult& point : made.points)
      for (Repetition& r : point.repetitions) r.cache.resident_before = resident;
    EXPECT_FALSE(made.rehearsed().tuning->advised) << resident;
  }
  for (PointResult& point : made.points)
    for (Repetition& r : point.repetitions) r.cache.resident_before = 0.04;
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
  made.set("input_pipeline/job", "decode_headroom", 4.5);
  made.plan.points.front().params["codec"] = std::string("png");
  EXPECT_EQ(made.rehearsed().proof.limit, Limit::gpus) << "no decoder is so slow";
  EXPECT_EQ(made.rehearsed().decode_headroom, 4.5);
  made.plan.points.front().params["batches_per_step"] = std::uint64_t{3};
  EXPECT_EQ(made.rehearsed().rates.taken, 600);
  Made stored;
  stored.add_all(kWhole, kLoader, {{161}, {162}});
  stored.plan.points.front().params["codec"] = std::string("jpeg");
  stored.set("input_pipeline/job", "decode_headroom", 1.5);
  EXPECT_EQ(stored.rehearsed().proof.limit, Limit::storage) << "a slower decoder changes nothing about that";
}

/// GPUs that wait for data in 2 % of the time, and a loader that gives twice what they take.
Made fed(const std::vector<Taken>& whole) {
  Made made;
  made.plan.job->step.target_utilization = 0.9;
  made.add_all(whole, {{400}, {401}}, {{800}});
  made.set("input_pipeline/job", "stall_fraction", 0.02);
  return made;
}

/// The sentence that has `words`, and where none has them, all sentences.
std::string line(const Rehearsal& r, const std::string& words) {
  std::string all;
  for (const std::string& one : describe(r)) {
    if (one.find(words) != std::string::npos) return one;
    all += one + "\n";
  }
  return "none of:\n" + all;
}

TEST(Rehearsal, SavesAreJudgedByAPipelineThatDoesNotSave) {
  struct Case {
    double without, pause, target;
    Limit limit;
    bool decides;
    const char *by_times, *words;
  };
  for (const Case& c : {Case{0.96, 0.15, 0.9, Limit::checkpoints, true, "checkpoints",
                             ": without them the job's utilization would be reached, with them it is not"},
                        Case{0.96, 0.15, 0.97, Limit::checkpoints, false, "checkpoints", ": they cost 15.5 points"},
                        Case{0.96, 0.15, 0.81, Limit::checkpoints, false, "checkpoints", ": they cost 15.5 points"},
                        Case{0.83, 0.06, 0.9, Limit::gpus, false, "checkpoints", ": they cost 2.5 points"},
                        Case{0.82, 0.01, 0.9, Limit::gpus, false, "gpus", ": no loss beyond the bounds of both"}}) {
    Made made = fed({{0.80}, {0.81}});
    made.plan.job->step.target_utilization = c.target;
    made.plan.points.front().params["checkpoint_mode"] = std::string("sync");
    made.add("input_pipeline", "no-checkpoint", "utilization_without_saves", {{c.without}, {c.without}});
    made.set("input_pipeline/job", "save_fraction", c.pause);
    const Rehearsal r = made.rehearsed();
    EXPECT_EQ(r.proof.limit, c.limit) << r.proof.sentence;
    EXPECT_EQ(r.by_times, c.by_times);
    EXPECT_EQ(r.saves->decides, c.decides);
    EXPECT_FALSE(r.saves->async);
    EXPECT_NE(line(r, "synchronous checkpoints, none of which became durable").find(c.words), std::string::npos)
        << line(r, "synchronous checkpoints");
  }
  Made made = fed({{0.80}, {0.81}});
  made.add("input_pipeline", "no-checkpoint", "utilization_without_saves", {{0.96}, {0.96}});
  made.plan.points.front().params["checkpoint_mode"] = std::string("async");
  made.set("input_pipeline/job", "saves", 1);
  EXPECT_NE(line(made.rehearsed(), "checkpoints, 1 in").find("asynchronous checkpoints, 1 in a repetition"),
            std::string::npos);
  made.set("input_pipeline/job", "saves", 3);
  made.set("input_pipeline/job", "time_to_durable_s", 2);
  made.set("input_pipeline/job", "save_fraction", 0.15);
  made.set("input_pipeline/job", "host_fraction", 0.16);
  EXPECT_EQ(line(made.rehearsed(), "checkpoints, 3")
                .find("asynchronous checkpoints, 3 in a repetition, each durable after 2.00 s: the GPUs compute 80.5 % "
                      "of the time "
                      "with them, 96.0 % without, and pause for them 15.0 %"),
            0u);
  EXPECT_EQ(made.rehearsed().by_times, "host") << "that takes more";
  made.set("input_pipeline/job", "stall_fraction", 0.06);
  made.set("input_pipeline/no-step", "sample_rate", 100);
  made.set("input_pipeline/double-workers", "sample_rate", 100);
  made.set("input_pipeline/in-memory", "sample_rate", 100);
  EXPECT_EQ(made.rehearsed().proof.limit, Limit::checkpoints) << "nothing else was found";
  made.set("input_pipeline/double-workers", "sample_rate", 190);
  made.set("input_pipeline/job", "stall_fraction", 0.2);
  EXPECT_EQ(made.rehearsed().proof.limit, Limit::workers) << "checkpoints take their part beside it";
}

TEST(Rehearsal, CopiesLimitWhereTheyTakeMoreThanWaiting) {
  for (const auto& [copies, limit, by_times] :
       {std::tuple(0.18, Limit::copies, "copies"), std::tuple(0.08, Limit::copies, "copies"),
        std::tuple(0.04, Limit::gpus, "gpus"), std::tuple(0.01, Limit::gpus, "gpus")}) {
    Made made = fed({{0.80}, {0.81}});
    made.set("input_pipeline/job", "copy_fraction", copies);
    const Rehearsal r = made.rehearsed();
    EXPECT_EQ(r.proof.limit, limit) << r.proof.sentence;
    EXPECT_EQ(r.by_times, by_times);
    EXPECT_EQ(r.copies, copies);
    // Storage alone says nothing of copies.
    EXPECT_NEAR(*r.error, r.predicted->utilization.value - 0.805 / (1 - copies), 1e-9);
  }
  Made busy = fed({{0.95}, {0.95}});
  busy.set("input_pipeline/job", "copy_fraction", 0.18);
  EXPECT_NEAR(*busy.rehearsed().error, busy.rehearsed().predicted->utilization.value - 1, 1e-9) << "of all the time";
  Made workers = fed({{0.80}, {0.81}});
  workers.set("input_pipeline/job", "copy_fraction", 0.18);
  workers.set("input_pipeline/no-step", "sample_rate", 100);
  workers.set("input_pipeline/double-workers", "sample_rate", 190);
  EXPECT_EQ(workers.rehearsed().proof.limit, Limit::workers) << "the loader is not fast enough";
  Made waits = fed({{0.80}, {0.81}});
  waits.set("input_pipeline/job", "copy_fraction", 0.1);
  waits.set("input_pipeline/job", "stall_fraction", 0.11);
  EXPECT_EQ(waits.rehearsed().by_times, "storage");
}

TEST(Rehearsal, GpusThatNeverWaitedAreNotLimitedByTheLoader) {
  for (const auto& [busy, limit] : {std::pair(0.97, Limit::gpus), std::pair(0.90, Limit::unknown)}) {
    Made made = fed({{busy}, {busy}});
    made.set("input_pipeline/no-step", "sample_rate", 100);
    const Rehearsal r = made.rehearsed();
    EXPECT_EQ(r.proof.limit, limit);
    EXPECT_EQ(r.proof.sentence, "the GPUs waited for 2.0 % of the time only: what feeds them does not limit");
  }
}

TEST(Rehearsal, OneOfSeveralNodesHoldsTheOthersBack) {
  struct Case {
    unsigned times, of;
    double least, others;
    bool holds_back;
  };
  for (const Case& c : {Case{3, 4, 0.02, 0.2, true}, Case{3, 4, 0.02, 0.06, true}, Case{3, 4, 0.09, 0.2, true},
                        Case{2, 4, 0.02, 0.2, false}, Case{3, 4, 0.02, 0.045, false}, Case{3, 4, 0.11, 0.2, false}}) {
    Made made = fed({{0.80}, {0.81}});
    made.points[0].processes = 2;
    made.points[0].slowest = SlowestRank{.rank = 1, .host = "b", .times = c.times, .of = c.of};
    made.plan.job->cluster.nodes = 8;
    made.set("input_pipeline/job", "least_others_fraction", c.least);
    made.set("input_pipeline/job", "others_fraction", c.others);
    const Rehearsal r = made.rehearsed();
    EXPECT_EQ(r.nodes->holds_back, c.holds_back) << c.times << " " << c.least << " " << c.others;
    EXPECT_EQ(r.rates.taken, 400) << "by the GPUs of both";
  }
  Made made = fed({{0.80}, {0.81}});
  EXPECT_FALSE(made.rehearsed().nodes);
  Rehearsal r = made.rehearsed();
  r.nodes = {.count = 2, .of_job = 2, .slowest = SlowestRank{.rank = 1, .host = "b"}, .least = 0.02, .others = 0.2};
  EXPECT_EQ(line(r, "nodes step"),
            "2 nodes step together: none holds the others back; they wait for each other 20.0 % of the time");
  r.nodes->holds_back = true;
  EXPECT_EQ(
      line(r, "nodes step"),
      "2 nodes step together: rank 1 (b) holds them back: at the end of steps the other waits 20.0 % of the time, "
      "it 2.0 %; the shares of waiting, reading and decoding are this rank's");
  r.nodes->count = 3;
  EXPECT_NE(line(r, "3 nodes step together (the job has 2)").find("the other 2 wait 20.0 %"), std::string::npos);
}

TEST(Rehearsal, NodesInStepGetTheSlowestOnesRate) {
  Made made = fed({{0.80}, {0.81}});
  made.points[0].processes = 2;
  PointResult& alone = made.points.back();
  EXPECT_NEAR(made.rehearsed().storage_alone.value, 151.5, 1e-9) << "of ranks nothing is known";
  for (Repetition& r : alone.repetitions) {
    PhaseResult& phase = r.phases.emplace_back();
    phase.ranks.resize(2);
    phase.ranks[0].operations = phase.ranks[1].operations = 100;
    phase.ranks[0].elapsed_s = 1;
    phase.ranks[1].elapsed_s = 2;
  }
  EXPECT_NEAR(made.rehearsed().storage_alone.value, 151.5 * 2 / 3, 1e-9) << "twice the 50 of 150";
  EXPECT_NEAR(made.rehearsed().storage_alone.low, 151.0 * 2 / 3, 1e-9);
  EXPECT_NEAR(made.rehearsed().storage_alone.high, 152.0 * 2 / 3, 1e-9);
  alone.repetitions[0].phases[0].ranks[1].elapsed_s = 1;
  alone.repetitions[1].counted = false;
  EXPECT_NEAR(made.rehearsed().storage_alone.value, 151, 1e-9) << "of repetitions that count";
  alone.repetitions[0].phases[0].ranks[1].elapsed_s = 0;
  EXPECT_FALSE(made.rehearsed().predicted) << "one of them read nothing";
  alone.repetitions[0].phases[0].ranks.resize(1);
  EXPECT_NEAR(made.rehearsed().storage_alone.value, 151, 1e-9);
  // Two processors of each decode 16 ms for each sample; the GPUs of one node are compared with what one node takes.
  made.set("small_file_read/job", "sample_rate", 500);
  made.plan.points.front().params["codec"] = std::string("npz");
  made.add("decode", "job", "cpu_time_per_sample", {{0.016}, {0.016}});
  made.add("host_facts", "", "cpu_cores", {{2}, {2}});
  made.plan.points.back().id = "host_facts";
  made.add("gpu_decode", "job", "node_image_rate", {{150}, {150}});
  std::erase_if(made.points, [](const PointResult& p) { return p.point->id == "input_pipeline/in-memory"; });
  EXPECT_NEAR(made.rehearsed().predicted->rate.high, 250, 1e-9);
  made.plan.points.front().params["cpu_time_per_sample"] = 0.004;
  EXPECT_NEAR(made.rehearsed().predicted->rate.high, 200, 1e-9) << "what the job asks for comes on top";
  made.plan.points.front().params["cpu_time_per_sample"] = 0.0;
  EXPECT_NEAR(made.rehearsed().predicted->rate.low, 1 / (1 / 500.0 + 0.016 / 8), 1e-9) << "by eight workers";
  EXPECT_NE(line(made.rehearsed(), "nvJPEG").find("75.0 % of what they take"), std::string::npos);
}

TEST(Rehearsal, APredictionIsGradedByTheRehearsal) {
  for (const auto& [rate, grade] :
       {std::pair(161.0, "close"), std::pair(166.0, "close"), std::pair(170.0, "off"), std::pair(152.0, "off")}) {
    Made made = fed({{0.80}, {0.80}});
    made.set("small_file_read/job", "sample_rate", rate);
    const Rehearsal r = made.rehearsed();
    // In turn with memory's 14,050/s, and beside it: the value is between both.
    const double predicted = (1 / (1 / rate + 1 / 14'050.0) + rate) / 2;
    EXPECT_NEAR(*r.error, predicted / 200 - 0.8, 1e-9);
    EXPECT_EQ(r.grade, grade) << rate;
    ASSERT_EQ(r.stage_errors.size(), 2u);
    EXPECT_EQ(r.stage_errors[0].stage, "storage");
    EXPECT_NEAR(r.stage_errors[0].error, rate / 400.5 - 1, 1e-9) << "of what the loader alone read";
    EXPECT_NEAR(r.stage_errors[1].error, predicted / 400.5 - 1, 1e-9);
  }
  Made made = fed({{0.70}, {0.80}});
  made.set("small_file_read/job", "sample_rate", 156);
  EXPECT_EQ(made.rehearsed().grade, "close");
  made.points.back().repetitions[0].metrics = {{"sample_rate", 150}};
  made.points.back().repetitions[1].metrics = {{"sample_rate", 170}};
  made.set("input_pipeline/job", "accelerator_utilization", 0.74);
  EXPECT_EQ(made.rehearsed().grade, "within its interval");
  made.set("input_pipeline/job", "accelerator_utilization", 0.90);
  EXPECT_EQ(made.rehearsed().grade, "off");
  made.plan.points.front().params["table"] = std::string("parquet");
  EXPECT_FALSE(made.rehearsed().predicted) << "what arrays of row groups cost was not measured alone";
  made.plan.points.front().params["table"] = std::string("none");
  EXPECT_TRUE(made.rehearsed().predicted);
  made.plan.points.front().params["codec"] = std::string("npz");
  EXPECT_FALSE(made.rehearsed().predicted) << "what decoding costs was not measured alone";
  made.add("decode", "job", "cpu_time_per_sample", {{0.004}, {0.004}});
  made.add("host_facts", "", "cpu_cores", {{2}, {2}});
  made.plan.points.back().id = "host_facts";
  made.points.erase(made.points.begin() + 3);  // in-memory
  EXPECT_NEAR(made.rehearsed().predicted->rate.high, 170, 1e-9);
  made.set("decode/job", "cpu_time_per_sample", 0.016);
  EXPECT_NEAR(made.rehearsed().predicted->rate.high, 125, 1e-9) << "of two cores";
  made.plan.points.front().params["cpu_time_per_batch"] = 0.016;  // 4 ms of each of four samples
  EXPECT_NEAR(made.rehearsed().predicted->rate.high, 100, 1e-9);
  EXPECT_EQ(made.rehearsed().rates.handed, 250);
  made.set("input_pipeline/no-step", "sample_rate", 0);
  EXPECT_TRUE(made.rehearsed().stage_errors.empty()) << "of a loader that gave nothing";
  made.set("small_file_read/job", "sample_rate", 0);
  EXPECT_FALSE(made.rehearsed().predicted) << "nor of storage";
}

TEST(Rehearsal, ALocalCacheReportsItsEpochs) {
  struct Case {
    double cached;
    std::optional<double> hits, pays_after, staged;
    const char* words;
  };
  const std::string begin =
      "local cache: epochs straight from storage give 100 samples/s, 50.0 % of what the GPUs take; "
      "the first one, which fills it, 90.0 samples/s, 45.0 %";
  for (const Case& c :
       {Case{250, {}, {}, {}, "later ones 250 samples/s, 100.0 % of what the GPUs take (cut off by the time"},
        Case{150, 0.8, {}, {}, "80.0 % of their bytes out of it (C5: 75.0 %): it holds nothing"},
        Case{90, 0.8, {}, {}, ": they take no less time, and it never pays"},
        Case{150, 0.8, 0.0, 1.2, ": filling it took no time besides reading, staging it before the run after 2"},
        Case{150, 0.8, 0.9, 1.0, ": filling it has paid after 1 later epoch, staging it before the run after 1"},
        Case{150, 0.8, 1.5, {}, ": filling it has paid after 2 later epochs, staging it before the run after 0"}}) {
    Made made = fed({{0.80}, {0.81}});
    made.add("local_cache", "job", "cached_sample_rate", {{c.cached}, {c.cached}});
    made.set("local_cache/job", "storage_sample_rate", 100);
    made.set("local_cache/job", "fill_sample_rate", 90);
    made.set("local_cache/job", "hit_ratio_predicted_c5", 0.75);
    if (c.hits) made.set("local_cache/job", "hit_ratio", *c.hits);
    if (c.pays_after) made.set("local_cache/job", "break_even_epochs", *c.pays_after);
    if (c.staged) made.set("local_cache/job", "break_even_predicted_c11", *c.staged);
    const std::string reported = line(made.rehearsed(), begin);
    EXPECT_NE(reported.find(c.words), std::string::npos) << reported;
  }
}

TEST(Rehearsal, EachFindingHasItsSentence) {
  Made made = fed({{0.80}, {0.82}});
  made.set("input_pipeline/job", "stalled_reads", 1);
  made.points[0].repetitions[0].metrics.push_back({"longest_read_s", 3});
  made.points[0].repetitions[1].metrics.push_back({"longest_read_s", 2});
  made.set("input_pipeline/job", "queue_occupancy", 0.5);
  made.set("input_pipeline/job", "host_fraction", 0.06);
  made.set("input_pipeline/job", "accelerator_utilization_low", 0.7);
  made.set("input_pipeline/job", "accelerator_utilization_high", 0.9);
  EXPECT_NE(line(made.rehearsed(), "GPUs compute").find("[70.0 %, 90.0 %]"), std::string::npos) << "their own windows";
  made.set("input_pipeline/job", "accelerator_utilization_low", 0.8);
  made.set("input_pipeline/job", "accelerator_utilization_high", 0.82);
  made.add("gpu_decode", "job", "node_image_rate", {{150}, {150}});
  made.set("gpu_decode/job", "cpu_time_per_image", 0.001);
  Rehearsal r = made.rehearsed();
  EXPECT_EQ(line(r, "GPUs compute"),
            "GPUs compute 81.0 % of the time [78.6 %, 83.4 %], wait for data 2.0 %, for the host 6.0 %; 50 % of the "
            "batches that can be are ready when a step begins");
  EXPECT_EQ(line(r, "storage stalled").substr(0, 92),
            "storage stalled: 2 samples kept a worker for longer than stalled_after, the longest for 3.00");
  EXPECT_EQ(line(r, "where its time"), "where its time went named host: counter-experiments did not confirm it");
  EXPECT_EQ(line(r, "nvJPEG"),
            "the GPUs of this node, with nothing else to do, decode 150 images/s (nvJPEG), 75.0 % of what they take, "
            "for 1.00 ms of a processor each");
  EXPECT_EQ(line(r, "predicted from"),
            "predicted from small_file_read/job, which gave 152 samples/s: 75.3 % [73.1 %, 77.6 %] (A18); rehearsed "
            "81.0 %: -5.7 points, off");
  EXPECT_EQ(line(r, "decoder").substr(0, 4), "none");
  r.stalled = 1;
  r.by_times = "gpus";
  r.copies = 0.1;
  r.decode_headroom = 0.5;
  r.calibration = "calibrated";
  r.not_cold = {"a", "b"};
  r.wall_clock = {.steps = 100, .fill_s = 2, .by_rule = 0.8, .utilization = 0.78};
  EXPECT_NE(line(r, "GPUs compute").find(", for copies to them 10.0 %"), std::string::npos);
  EXPECT_NE(line(r, "that excludes").find("An epoch of 100 steps begins with 2.00 s of it, so GPUs compute 78.0 %"),
            std::string::npos);
  EXPECT_NE(line(r, "storage stalled").find("1 sample kept"), std::string::npos);
  EXPECT_EQ(line(r, "where its time").substr(0, 4), "none") << "it confirms the limit";
  EXPECT_NE(line(r, "own decoder").find("that take up to 1.0 times as long"), std::string::npos);
  EXPECT_EQ(line(r, "calibrated"), "calibrated");
  EXPECT_NE(line(r, "of a, b it was not proven").find("nothing is concluded"), std::string::npos);
  EXPECT_NE(line(r, "predicted from").find("rehearsed 81.0 % without copies: "), std::string::npos);
  r.saves.emplace();
  EXPECT_NE(line(r, "predicted from").find(" without checkpoints and copies: "), std::string::npos);
  r.copies.reset();
  EXPECT_NE(line(r, "predicted from").find(" without checkpoints: "), std::string::npos);
  for (const Limit limit : {Limit::unknown, Limit::workers}) {
    r.proof.limit = limit;
    EXPECT_EQ(line(r, "where its time").substr(0, 4), "none");
  }
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
