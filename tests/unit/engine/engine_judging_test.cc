// Whole runs of scripted workloads: when a need is decided, and what each is reported.
#include <gtest/gtest.h>

#include "harness/engine/explain/evidence.h"
#include "harness/engine/explain/questions.h"
#include "tests/unit/engine_run.h"

namespace headrace::engine_judging_test {
namespace {

using testing::operations;
using testing::sleep_ms;

using EngineJudging = testing::EngineRun;

TEST_F(EngineJudging, StopsAtTheFirstLookThatDecidesEveryNeed) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  w->fixed = [](const Repetition& r) { return 100.0 + r.index; };
  plan.need("fixed", 50);
  const RunResult r = run();
  EXPECT_EQ(only(r).repetitions.size(), 5u);
  ASSERT_EQ(r.judgements.size(), 1u);
  const Judgement& j = r.judgements[0];
  EXPECT_EQ(j.outcome, Outcome::pass) << j.explanation;
  EXPECT_NEAR(*j.low, 87, 1);
  EXPECT_EQ(*j.measured, 102);
  EXPECT_EQ(j.point, "p0");
  EXPECT_EQ(j.metric, "scripted.fixed");
  EXPECT_EQ(r.summary.word, Outcome::pass);
}

TEST_F(EngineJudging, StraddlingGoesOnToTheLastLook) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  w->fixed = [](const Repetition& r) { return 100.0 + (r.index % 2) * 10 + (r.index % 5) * 2; };
  plan.need("fixed", 109);
  const RunResult r = run();
  EXPECT_EQ(only(r).repetitions.size(), 15u);
  EXPECT_EQ(r.judgements[0].reason, Reason::straddles);
  EXPECT_EQ(r.summary.exit_code, 11);
  EXPECT_EQ(only(r).repetitions[4].look, 0u);
  EXPECT_EQ(only(r).repetitions[5].look, 1u);
  EXPECT_EQ(only(r).repetitions[14].look, 2u);
}

TEST_F(EngineJudging, WithoutANeedANarrowIntervalIsEnough) {
  auto narrow = plan.add(), wide = plan.add();
  // The first metric of the catalogue decides: read_bandwidth, here of made-up times.
  const auto script = [](double spread) {
    return [spread](Worker& worker) {
      const auto bytes = static_cast<std::uint64_t>(1e6 * (1 + spread * (worker.repetition % 5)));
      sleep_ms(20);
      operations(worker, 1, bytes);
    };
  };
  narrow->on_run = script(0);
  wide->on_run = script(1);
  plan.plan.points[0].repeat.looks = plan.plan.points[1].repeat.looks = {3, 6};
  const RunResult r = run();
  EXPECT_LE(r.points[0].repetitions.size(), 6u);
  EXPECT_EQ(r.points[1].repetitions.size(), 6u);
}

TEST_F(EngineJudging, AFailIsMeasuredOnceMoreThoughTheBudgetIsUsedUp) {
  auto w = plan.add();
  plan.plan.budget_s = 1;
  w->on_run = [](Worker& worker) {
    if (worker.repetition == 4) sleep_ms(1100);  // the last before the first look
    operations(worker, 10, 1);
  };
  w->fixed = [](const Repetition& r) { return r.index < 5 ? 10.0 : 100.0; };
  plan.need("fixed", 50);
  const RunResult r = run();
  EXPECT_EQ(r.judgements[0].outcome, Outcome::inconclusive) << r.judgements[0].explanation;
  EXPECT_EQ(only(r).repetitions.size(), 10u);
}

TEST_F(EngineJudging, AFailIsMeasuredOnceMoreBeforeItIsFinal) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  w->fixed = [](const Repetition& r) { return 10.0 + 0.01 * r.index; };
  plan.need("fixed", 50);
  const RunResult r = run();
  EXPECT_EQ(r.judgements[0].outcome, Outcome::fail);
  EXPECT_NE(r.judgements[0].explanation.find("A second measurement after a pause gave 10.1."), std::string::npos)
      << r.judgements[0].explanation;
  EXPECT_EQ(r.judgements[0].repetitions, 5u);
  ASSERT_EQ(only(r).repetitions.size(), 10u);
  EXPECT_FALSE(only(r).repetitions[5].counted);
  EXPECT_EQ(only(r).repetitions[5].look, 3u);
  EXPECT_EQ(only(r).metrics[0].values.size(), 5u);
  EXPECT_EQ(w->prepared, 2u);
  EXPECT_EQ(w->cleaned, 2u);
  EXPECT_EQ(r.summary.exit_code, 10);
}

TEST_F(EngineJudging, AFailThatDoesNotComeAgainIsInconclusive) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  w->fixed = [](const Repetition& r) { return r.index < 5 ? 10.0 : 100.0; };
  plan.need("fixed", 50);
  const RunResult r = run();
  EXPECT_EQ(r.judgements[0].outcome, Outcome::inconclusive);
  EXPECT_EQ(r.judgements[0].reason, Reason::straddles);
  EXPECT_EQ(r.judgements[0].explanation,
            "5 repetitions missed the need of 50 with 10, but 5 taken after a pause gave 100.");
}

/// What is needed is what the job takes and its safety: fresh repetitions between both still miss it.
TEST_F(EngineJudging, MeasuredAgainTheMarginStillCounts) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  w->fixed = [](const Repetition& r) { return r.index < 5 ? 10.0 : 42.0; };
  job::Need need;
  need.id = "host.something";
  need.unit = "count";
  need.measured_by = {"scripted.fixed"};
  need.required = 40;
  need.need = 50;
  plan.plan.needs.push_back(need);
  const RunResult r = run();
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_EQ(r.judgements[0].outcome, Outcome::fail) << r.judgements[0].explanation;
}

/// What measures a need best answers it, though another way gives more.
TEST_F(EngineJudging, TheMetricThatIsNamedFirstAnswers) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  w->fixed = [](const Repetition&) { return 10.0; };
  const RunResult r = run();
  judging::Question q;
  q.blank.need = 50;
  q.blank.unit = "count";
  q.measured_by = {"scripted.fixed", "other.fixed"};
  std::vector<judging::RecordedPoint> points = engine::recorded(r.points);
  points.push_back(points[0]);
  points[1].id = "p1";
  points[1].workload = "other";
  for (auto& one : points[1].repetitions) one.metrics["fixed"] = 100;
  Judgement j = judging::answer_all(std::vector{q}, points)[0];
  EXPECT_EQ(j.point, "p0");
  EXPECT_EQ(*j.measured, 10);
  points[0].repetitions.clear();
  EXPECT_EQ(judging::answer_all(std::vector{q}, points)[0].point, "p1");
}

/// A card that a machine lacks misses nothing; one whose test fails does.
TEST_F(EngineJudging, AnOptionalNeedIsNotJudgedWhereItsPointsWereSkippedAlone) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  w->fixed = [](const Repetition&) { return 10.0; };
  std::vector<judging::RecordedPoint> points = engine::recorded(run().points);
  judging::Question q;
  q.blank.need = 5;
  q.blank.unit = "count";
  q.measured_by = {"scripted.fixed"};
  q.optional = true;
  const auto outcomes = [&](PointStatus status) {
    points[0].status = status;
    if (status != PointStatus::ok) points[0].repetitions.clear();
    std::vector<Outcome> all;
    for (const Judgement& j : judging::answer_all(std::vector{q}, points)) all.push_back(j.outcome);
    return all;
  };
  EXPECT_EQ(outcomes(PointStatus::ok), std::vector{Outcome::pass});
  EXPECT_EQ(outcomes(PointStatus::skipped), std::vector<Outcome>{});
  EXPECT_EQ(outcomes(PointStatus::error), std::vector{Outcome::error});
  q.optional = false;
  EXPECT_EQ(outcomes(PointStatus::skipped), std::vector{Outcome::skipped});
}

/// It reads the files as well: that it falls short says nothing.
TEST_F(EngineJudging, ALowerBoundMeetsANeedOrReportsNothing) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  w->fixed = [](const Repetition&) { return 10.0; };
  const RunResult r = run();
  judging::Question q;
  q.blank.need = 50;
  q.blank.unit = "count";
  q.measured_by = {"metadata.operation_rate", "scripted.fixed"};
  q.lower_bounds = {"scripted.fixed"};
  Judgement j = judging::answer_all(std::vector{q}, engine::recorded(r.points))[0];
  EXPECT_EQ(j.outcome, Outcome::inconclusive);
  EXPECT_NE(j.next_step.find("use: metadata"), std::string::npos) << j.next_step;
  q.blank.need = 5;
  EXPECT_EQ(judging::answer_all(std::vector{q}, engine::recorded(r.points))[0].outcome, Outcome::pass);
}

/// What several nodes or processes gave together is each one's share.
TEST_F(EngineJudging, SharesOfJointMeasurements) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  plan.need("read_bandwidth", 60);
  const judging::Question declared = engine::questions(plan.plan, 1).at(0);
  const RunResult r = run();
  std::vector<judging::RecordedPoint> points = engine::recorded(r.points);
  for (auto& one : points[0].repetitions) one.metrics["read_bandwidth"] = 160;
  points[0].nodes = 4;
  points[0].processes = 8;
  EXPECT_DOUBLE_EQ(*judging::answer_all(std::vector{declared}, points)[0].measured, 40);
  judging::Question of_gpu = declared;
  of_gpu.per_process = true;
  EXPECT_DOUBLE_EQ(*judging::answer_all(std::vector{of_gpu}, points)[0].measured, 20);
  judging::Question no_rate = declared;  // of a time or a share each has all
  no_rate.blank.unit = "s";
  EXPECT_DOUBLE_EQ(*judging::answer_all(std::vector{no_rate}, points)[0].measured, 160);
}

/// Fresh repetitions beside a neighbour can meet the need, but not miss it.
TEST_F(EngineJudging, DisturbedFreshRepetitionsConfirmNothing) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  w->fixed = [](const Repetition& r) { return r.index < 5 ? 10.0 : r.index < 9 ? 5.0 : 100.0; };
  plan.need("fixed", 50);
  const RunResult r = run();
  std::vector<judging::RecordedPoint> points = engine::recorded(r.points);
  ASSERT_EQ(points[0].repetitions.size(), 10u);
  EXPECT_EQ(judging::answer_all(r.questions, points)[0].outcome, Outcome::fail);
  for (std::size_t i = 5; i < 9; ++i) points[0].repetitions[i].disturbed = true;
  EXPECT_EQ(judging::answer_all(r.questions, points)[0].outcome, Outcome::inconclusive);
}

TEST_F(EngineJudging, TheBestPointAnswersANeed) {
  auto slow = plan.add(), fast = plan.add();
  for (const auto& w : {slow, fast}) w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  slow->fixed = [](const Repetition&) { return 10.0; };
  fast->fixed = [](const Repetition&) { return 60.0; };
  plan.need("fixed", 50);
  const RunResult r = run();
  EXPECT_EQ(r.judgements[0].outcome, Outcome::pass);
  EXPECT_EQ(r.judgements[0].point, "p1");
  EXPECT_EQ(slow->prepared, 1u);  // its miss answers nothing: not measured again
}

TEST_F(EngineJudging, AFactNeedsOneRepetition) {
  auto w = plan.add(testing::ScriptedWorkload::fact());
  w->fixed = [](const Repetition&) { return 2.0; };
  plan.need("fixed", 128);
  const RunResult r = run();
  EXPECT_EQ(only(r).repetitions.size(), 1u);
  EXPECT_EQ(r.judgements[0].outcome, Outcome::fail);
  EXPECT_EQ(*r.judgements[0].low, 2);
}

TEST_F(EngineJudging, SkippedPointsAndRemediesForANeed) {
  auto w = plan.add();
  w->on_check = [] { return Skip{"no such device"}; };
  plan.need("fixed", 1);
  plan.plan.declared_needs.push_back({.id = "other",
                                      .metric = "unheard_of.rate",
                                      .at_least = true,
                                      .value = 1,
                                      .unit = "1/s",
                                      .source = "",
                                      .where = {}});
  const RunResult r = run();
  EXPECT_EQ(only(r).status, PointStatus::skipped);
  EXPECT_EQ(only(r).reason, "no such device");
  EXPECT_EQ(r.judgements[0].outcome, Outcome::skipped);
  EXPECT_EQ(r.judgements[0].explanation, "p0 was skipped: no such device");
  EXPECT_EQ(r.judgements[1].explanation, "This version of headrace has no workload that measures it.");
  EXPECT_EQ(r.summary.exit_code, 77);
  EXPECT_EQ(w->prepared, 0u);
}

TEST_F(EngineJudging, SkippedPointsWithoutANeed) {
  plan.add()->on_check = [] { return Skip{"no such device"}; };
  EXPECT_EQ(run().summary.exit_code, 77);
  plan.add()->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  EXPECT_EQ(run().summary.word, Outcome::incomplete);
}

TEST_F(EngineJudging, PercentilesNeedOperations) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 999, 1); };
  plan.plan.points[0].repeat.looks = {1};
  plan.plan.declared_needs.push_back({.id = "p99",
                                      .metric = "scripted.latency_p99_ns",
                                      .at_least = false,
                                      .value = 1e6,
                                      .unit = "ns",
                                      .source = "",
                                      .where = {}});
  const RunResult r = run();
  for (const MetricSummary& m : only(r).metrics) {
    EXPECT_EQ(m.too_few_operations,
              m.name == "latency_p99_ns" || m.name == "latency_p999_ns" || m.name == "latency_p9999_ns")
        << m.name;
  }
  EXPECT_EQ(r.judgements[0].reason, Reason::few_ops);
}

/// p needs 10 / (1 - p) operations in every repetition that counts: 1,000 for p99.
TEST_F(EngineJudging, AsManyOperationsAsThePercentileNeeds) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 1000, 1); };
  plan.plan.points[0].repeat.looks = {1};
  const RunResult r = run();
  for (const MetricSummary& m : only(r).metrics)
    EXPECT_EQ(m.too_few_operations, m.name == "latency_p999_ns" || m.name == "latency_p9999_ns") << m.name;
}

/// Ten minutes, one phase and one repetition: bounded by its own batches, from the warm-up on.
TEST_F(EngineJudging, OneLongRepetitionMayBeAlone) {
  plan.add();
  const auto result = [&](double elapsed_s) {
    PointResult all = engine::unmeasured(plan.plan.points[0]);
    Repetition& r = all.repetitions.emplace_back();
    r.metrics = {{"read_bandwidth", 100, elapsed_s}};
    PhaseResult& phase = r.phases.emplace_back();
    phase.elapsed_s = elapsed_s;
    phase.steady_from_s = 100;
    for (unsigned i = 0; i < 600; ++i)
      phase.series.push_back(
          {.time_s = i + 0.5, .bytes_per_s = i < 100 ? 10.0 : 99.0 + i * 7 % 3, .operations_per_s = 5});
    return all;
  };
  const auto alone = [](PointResult all) {
    engine::summarize_metrics({}, all);
    return all.single_run;
  };
  const auto long_one = alone(result(601));
  ASSERT_TRUE(long_one.contains("B/s") && long_one.contains("1/s"));
  EXPECT_TRUE(long_one.at("B/s").usable);
  EXPECT_NEAR(long_one.at("B/s").mean, 100, 0.01);
  EXPECT_EQ(long_one.at("1/s").mean, 5);
  EXPECT_TRUE(alone(result(599)).empty());
  PointResult two = result(601);
  two.repetitions.push_back(two.repetitions[0]);
  EXPECT_TRUE(alone(two).empty());
  two.repetitions[1].counted = false;
  EXPECT_EQ(alone(two).size(), 2u);
  PointResult phases = result(601);
  phases.repetitions[0].phases.push_back(phases.repetitions[0].phases[0]);
  EXPECT_TRUE(alone(phases).empty());
}

TEST_F(EngineJudging, ClusterNeedsAndGpuShares) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  w->fixed = [](const Repetition&) { return 80.0; };
  job::Job job;
  job.cluster.nodes = 4;
  job.cluster.gpus_per_node = 8;
  plan.plan.job = job;
  job::Need need;
  need.id = "ingest.sample_rate";
  need.unit = "1/s";
  need.measured_by = {"scripted.fixed"};
  need.need = 9;
  need.scope = job::Scope::gpu;
  plan.plan.needs.push_back(need);
  need.need = 40;
  need.scope = job::Scope::node;
  plan.plan.needs.push_back(need);
  need.need = 200;
  need.scope = job::Scope::cluster;
  plan.plan.needs.push_back(need);
  need.informative = true;
  plan.plan.needs.push_back(need);
  const RunResult r = run();
  ASSERT_EQ(r.judgements.size(), 3u);
  EXPECT_EQ(r.judgements[0].scope, "cluster");
  EXPECT_EQ(r.judgements[0].outcome, Outcome::skipped);
  EXPECT_EQ(r.judgements[0].explanation, "measured on 1 of 4 nodes: a cluster needs to be measured together");
  for (const Judgement& j : {r.judgements[1], r.judgements[2]}) {
    EXPECT_EQ(j.outcome, Outcome::pass) << j.scope;
    EXPECT_DOUBLE_EQ(*j.measured, j.scope == "gpu" ? 10 : 80);  // 80 for the node, shared by its 8 GPUs
  }
}

/// A need of groups of 16 ranks on 2 nodes, in messages of 1 MiB, and points that did something
/// else.
TEST_F(EngineJudging, ACollectiveAnswersInTheJobsSizeAndGroups) {
  const auto add = [&](std::uint64_t size, unsigned ranks, unsigned stride, GroupShape shape, double value) {
    auto w = plan.add();
    w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
    w->fixed = [value](const Repetition&) { return value; };
    w->shape = shape;
    plan.plan.points.back().params = {{"message_size", size},
                                      {"group", std::string("all")},
                                      {"group_size", std::uint64_t{ranks}},
                                      {"group_stride", std::uint64_t{stride}}};
  };
  job::Need need;
  need.id = "network.gradient_busbw";
  need.unit = "count";
  need.measured_by = {"scripted.fixed"};
  need.need = need.required = 9;
  need.scope = job::Scope::gpu;
  need.collective = job::JobCollective{.message = 1 << 20, .ranks = 16, .stride = 8, .nodes = 2};
  plan.plan.needs.push_back(need);

  add(2 << 20, 16, 8, {16, 2, 8}, 100);  // another size
  add(1 << 20, 4, 1, {4, 1, 4}, 100);    // other groups
  EXPECT_EQ(run().judgements[0].outcome, Outcome::skipped);
  EXPECT_EQ(run().judgements[0].point, "");

  add(1 << 20, 16, 8, {2, 1, 2}, 100);
  Judgement j = run().judgements[0];
  EXPECT_EQ(j.outcome, Outcome::skipped);
  EXPECT_EQ(j.explanation, "p2 was measured within one node; the job's groups of 16 ranks lie on 2.");

  plan.plan.needs[0].collective->nodes = 1;
  add(1 << 20, 0, 1, {8, 2, 1}, 50);           // all in one group: close
  EXPECT_EQ(run().judgements[0].point, "p2");  // within a node, as those would be
  plan.plan.needs[0].collective->nodes = 2;
  j = run().judgements[0];
  EXPECT_EQ(j.point, "p3");
  EXPECT_EQ(j.outcome, Outcome::pass);
  EXPECT_NE(j.explanation.find("Measured in groups of 8 ranks on 2 nodes; the job's have 16 on 2."), std::string::npos)
      << j.explanation;

  add(1 << 20, 16, 8, {16, 2, 8}, 10);  // the job's own, though slower
  j = run().judgements[0];
  EXPECT_EQ(j.point, "p4");
  EXPECT_EQ(*j.measured, 10);
  EXPECT_EQ(j.explanation.find("Measured in groups"), std::string::npos);
}

/// What was counted from another rate on is no answer; nor is what could not be reported.
TEST_F(EngineJudging, ANeedIsAnsweredByTheMeasurementWithTheJobsValue) {
  job::Need need;
  need.id = "network.nics";
  need.unit = "count";
  need.measured_by = {"scripted.fixed"};
  need.measured_with = {{"nic_rate", "cluster.nic_rate", 50e9}};
  need.need = need.required = 4;
  plan.plan.needs.push_back(need);
  const auto add = [&](std::map<std::string, ParamValue> params, double value) {
    auto w = plan.add(testing::ScriptedWorkload::fact());
    w->fixed = [value](const Repetition&) { return value; };
    plan.plan.points.back().params = std::move(params);
    return w;
  };
  add({}, 8);
  add({{"nic_rate", 0.0}}, 8);
  add({{"nic_rate", 12.5e9}}, 8);
  Judgement j = run().judgements[0];
  EXPECT_EQ(j.outcome, Outcome::skipped);
  EXPECT_EQ(j.explanation,
            "This version of headrace has no workload that measures it.");  // none is registered
  const auto own = add({{"nic_rate", 50e9 * (1 + 1e-12)}}, 6);
  j = run().judgements[0];
  EXPECT_EQ(j.outcome, Outcome::pass);
  EXPECT_EQ(j.point, "p3");
  EXPECT_EQ(*j.measured, 6);
  own->missing = "eth0 is not reported";
  j = run().judgements[0];
  EXPECT_EQ(j.outcome, Outcome::skipped);
  EXPECT_EQ(j.explanation, "p3 did not report it: eth0 is not reported.");
}

}  // namespace
}  // namespace headrace::engine_judging_test
