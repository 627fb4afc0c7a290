// Whole runs of scripted workloads: phases, workers, errors, signals, hangs, and what observers are
// reported.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <numeric>

#include "tests/unit/engine_run.h"

namespace headrace::engine_test {
namespace {

using testing::operations;
using testing::sleep_ms;

using Engine = testing::EngineRun;

double metric(const Repetition& r, std::string_view name) {
  for (const MetricValue& m : r.metrics) {
    if (m.name == name) return m.value;
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

TEST_F(Engine, CountsBytesOperationsAndTimeOfAllWorkers) {
  auto w = plan.add();
  w->threads = 3;
  w->parts = {"open"};
  std::atomic<bool> first_done{false};
  w->on_run = [&](Worker& worker) {
    EXPECT_EQ(worker.count, 3u);
    while (worker.index != 0 && !first_done) sleep_ms(1);
    if (worker.index != 0) sleep_ms(20);
    operations(worker, 100, 1000);
    worker.recorder.part(1, 500);
    if (worker.index == 0) first_done = true;
  };
  plan.plan.points[0].repeat.looks = {1};
  const RunResult r = run();
  ASSERT_EQ(only(r).status, PointStatus::ok) << only(r).reason;
  ASSERT_EQ(only(r).repetitions.size(), 1u);
  const Repetition& rep = only(r).repetitions[0];
  const PhaseResult& phase = rep.phases.at(0);
  EXPECT_EQ(phase.bytes, 300'000u);
  EXPECT_EQ(phase.operations, 300u);
  EXPECT_EQ(phase.parts.at(0).total(), 3u);
  EXPECT_EQ(phase.worker_finish_s.size(), 3u);
  EXPECT_GE(phase.elapsed_s, 0.02);
  EXPECT_EQ(phase.first_finish_s, phase.worker_finish_s[0]);
  EXPECT_LT(phase.first_finish_s, phase.elapsed_s);
  EXPECT_EQ(std::accumulate(phase.worker_bytes.begin(), phase.worker_bytes.end(), std::uint64_t{0}), 300'000u);
  EXPECT_NEAR(metric(rep, "read_bandwidth"), 300'000 / phase.elapsed_s, 1);
  EXPECT_NEAR(metric(rep, "latency_p50_ns"), 1000, 8);
  EXPECT_EQ(metric(rep, "elapsed_s"), phase.elapsed_s);
  EXPECT_EQ(w->prepared, 1u);
  EXPECT_EQ(w->cleaned, 1u);
  EXPECT_EQ(r.summary.word, Outcome::measured);
  EXPECT_EQ(r.summary.exit_code, 0);
}

TEST_F(Engine, BackgroundWorkIsKeptApart) {
  auto w = plan.add();
  w->threads = 3;
  w->background = 1;
  w->phase_list = {{"alone", false}, {"beside", false}};
  w->on_run = [&](Worker& worker) {
    if (worker.index < 2) return operations(worker, 10, 1000);
    if (worker.phase == 0) return;
    sleep_ms(20);
    operations(worker, 7, 1'000'000);
  };
  plan.plan.points[0].repeat.looks = {1};
  const RunResult r = run();
  const Repetition& rep = only(r).repetitions.at(0);
  for (const PhaseResult& phase : rep.phases) {
    EXPECT_EQ(phase.bytes, 20'000u);
    EXPECT_EQ(phase.operations, 20u);
    EXPECT_EQ(phase.worker_bytes.size(), 2u);
  }
  EXPECT_FALSE(rep.phases[0].background);
  ASSERT_TRUE(rep.phases[1].background);
  const BackgroundResult& beside = *rep.phases[1].background;
  EXPECT_EQ(beside.bytes, 7'000'000u);
  EXPECT_EQ(beside.operations, 7u);
  EXPECT_EQ(beside.latency.total(), 7u);
  EXPECT_GE(beside.end_s - beside.begin_s, 0.02);
  EXPECT_FALSE(beside.series.empty());
}

TEST_F(Engine, AFailureInTheBackgroundFailsTheRepetition) {
  auto w = plan.add();
  w->threads = 2;
  w->background = 1;
  w->on_run = [&](Worker& worker) {
    if (worker.index == 0) return operations(worker, 10, 1000);
    worker.recorder.fail({.code = EIO}, now_ns());
  };
  plan.plan.points[0].repeat.looks = {1};
  const RunResult r = run();
  EXPECT_EQ(only(r).status, PointStatus::error);
  EXPECT_NE(only(r).reason.find("Input/output error"), std::string::npos) << only(r).reason;
}

TEST_F(Engine, WorkersStartTogetherAfterAnUntimedStepOnTheirOwnThread) {
  auto w = plan.add();
  w->threads = 4;
  std::atomic<int> set_up{0};
  std::vector<std::thread::id> ids(4);
  w->on_before_run = [&](Worker& worker) {
    ids[worker.index] = std::this_thread::get_id();
    sleep_ms(10 * static_cast<int>(worker.index));
    ++set_up;
  };
  w->on_run = [&](Worker& worker) {
    EXPECT_EQ(set_up.load(), 4);
    EXPECT_EQ(ids[worker.index], std::this_thread::get_id());
    operations(worker, 1, 1);
  };
  plan.plan.points[0].repeat.looks = {1};
  EXPECT_EQ(only(run()).repetitions.size(), 1u);
}

TEST_F(Engine, PhasesRunInOrderWithTheRepetitionsSeed) {
  auto w = plan.add();
  w->phase_list = {{"first", false}, {"second", true}};
  std::vector<std::pair<unsigned, std::uint64_t>> seen;
  w->on_run = [&](Worker& worker) {
    seen.emplace_back(worker.phase, worker.seed);
    operations(worker, 10, 1);
  };
  w->fixed = [](const Repetition& r) { return static_cast<double>(r.index); };  // wide: all looks are taken
  plan.plan.points[0].repeat.looks = {2};
  run();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].first, 0u);
  EXPECT_EQ(seen[1].first, 1u);
  EXPECT_EQ(seen[0].second, seen[1].second);
  EXPECT_NE(seen[0].second, seen[2].second);
}

TEST_F(Engine, FailingPreparationIsAnErrorOfThePointAlone) {
  auto bad = plan.add(), good = plan.add();
  bad->on_prepare = [](const DataProgress&) { throw system_error("open", "/data/a", ENOENT); };
  good->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  plan.need("fixed", 1);
  const RunResult r = run();
  EXPECT_EQ(r.points[0].status, PointStatus::error);
  EXPECT_NE(r.points[0].reason.find("open /data/a: No such file"), std::string::npos);
  EXPECT_EQ(bad->cleaned, 1u);
  EXPECT_EQ(r.points[1].status, PointStatus::ok);
  EXPECT_EQ(r.judgements[0].outcome, Outcome::pass);
  EXPECT_EQ(r.summary.exit_code, 1);  // a part of the run failed
}

TEST_F(Engine, AnExceptionOfAWorkerIsTheRepetitionsError) {
  auto w = plan.add();
  w->threads = 2;
  w->on_run = [](Worker& worker) {
    if (worker.index == 1) throw RunError("ring broke");
    while (worker.recorder.running()) sleep_ms(1);  // asked to stop when the other one fails
  };
  plan.need("fixed", 1);
  const RunResult r = run();
  EXPECT_EQ(only(r).status, PointStatus::error);
  EXPECT_EQ(only(r).reason, "ring broke; 1 of 2 workers failed (2 of 2 repetitions failed)");
  EXPECT_EQ(r.judgements[0].outcome, Outcome::error);
  EXPECT_EQ(r.summary.exit_code, 1);
}

TEST_F(Engine, AnErrorInSettingUpAWorkerIsOne) {
  auto w = plan.add();
  w->threads = 2;
  w->on_before_run = [](Worker& worker) {
    if (worker.index == 0) throw RunError("no ring for you");
  };
  EXPECT_EQ(only(run()).reason, "no ring for you; 1 of 2 workers failed (2 of 2 repetitions failed)");
}

TEST_F(Engine, FailedOperationsAreNeverCounted) {
  auto w = plan.add();
  w->parts = {"open", "read"};
  w->on_run = [](Worker& worker) {
    operations(worker, 10, 1);
    if (worker.repetition != 0) return;
    for (int i = 0; i < 3; ++i) {
      worker.recorder.fail({.code = EIO, .file = 7, .offset = 4096, .part = 2}, now_ns());
    }
  };
  plan.need("fixed", 0.5);
  const RunResult r = run();
  ASSERT_EQ(only(r).status, PointStatus::ok);
  ASSERT_EQ(only(r).repetitions.size(), 6u);  // the failed one is taken again
  EXPECT_EQ(only(r).repetitions[0].status, RepetitionStatus::error);
  EXPECT_EQ(only(r).repetitions[0].error,
            "read of file 7 at offset 4096: Input/output error (EIO); 3 operations failed");
  EXPECT_FALSE(only(r).repetitions[0].counted);
  EXPECT_TRUE(only(r).repetitions[0].metrics.empty());
  EXPECT_EQ(only(r).metrics[0].values.size(), 5u);
  ASSERT_EQ(only(r).notes.size(), 1u);
  EXPECT_EQ(only(r).notes[0].find("1 of 6 repetitions failed and is not counted: read of file 7"), 0u);
  EXPECT_EQ(r.judgements[0].outcome, Outcome::pass);
}

TEST_F(Engine, ARateAboveTheCeilingCannotBeTrue) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 1000, 1'000'000); };
  plan.plan.points[0].ceiling = 1e9;
  const RunResult r = run();
  EXPECT_EQ(only(r).status, PointStatus::error);
  EXPECT_EQ(only(r).reason.find("cannot be true: "), 0u) << only(r).reason;
}

TEST_F(Engine, ASignalEndsThePhaseAndKeepsItsResults) {
  auto w = plan.add();
  plan.add();
  w->on_run = [](Worker& worker) {
    if (worker.repetition == 2) stop_signal = SIGINT;
    do {
      operations(worker, 10, 1);
      sleep_ms(1);
    } while (worker.repetition == 2 && worker.recorder.running());
  };
  plan.need("fixed", 0.5);
  const RunResult r = run();
  EXPECT_EQ(only(r).status, PointStatus::interrupted);
  ASSERT_EQ(only(r).repetitions.size(), 3u);
  EXPECT_EQ(only(r).repetitions[2].status, RepetitionStatus::interrupted);
  EXPECT_FALSE(only(r).repetitions[2].counted);
  EXPECT_GT(only(r).repetitions[2].phases.at(0).operations, 0u);
  EXPECT_EQ(only(r).metrics[0].values.size(), 2u);
  EXPECT_EQ(r.points[1].status, PointStatus::not_reached);
  EXPECT_EQ(r.judgements[0].reason, Reason::few_reps);
  EXPECT_EQ(r.signal, SIGINT);
  EXPECT_EQ(r.summary.exit_code, 130);
  EXPECT_EQ(w->cleaned, 1u);
}

TEST_F(Engine, ASignalEndsThePreparation) {
  auto w = plan.add();
  w->on_prepare = [](const DataProgress& progress) {
    stop_signal = SIGTERM;
    progress(1, 2, "generating");
    FAIL() << "goes on after a signal";
  };
  const RunResult r = run();
  EXPECT_EQ(only(r).status, PointStatus::interrupted);
  EXPECT_EQ(r.summary.exit_code, 143);
}

TEST_F(Engine, TheTimeBudgetOfARepetitionEndsIt) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) {
    while (worker.recorder.running()) {
      const std::uint64_t begin = now_ns();
      sleep_ms(1);
      worker.recorder.op(begin, now_ns(), 1);
    }
  };
  plan.plan.points[0].duration_s = 0.1;
  plan.plan.points[0].repeat.looks = {1};
  const std::uint64_t begin = now_ns();
  const RunResult r = run();
  EXPECT_EQ(only(r).repetitions.at(0).status, RepetitionStatus::ok);
  EXPECT_GE(now_ns() - begin, 100'000'000u);
}

/// A read may take longer than the repetition's time: without it there would be no rate.
TEST_F(Engine, TheFirstOperationIsWaitedFor) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) {
    const std::uint64_t begin = now_ns();
    for (int i = 0; i < 500 && worker.recorder.running(); ++i) sleep_ms(1);
    if (worker.recorder.running()) worker.recorder.op(begin, now_ns(), 1000);
  };
  plan.plan.points[0].duration_s = 0.05;
  plan.plan.points[0].repeat.looks = {1};
  const RunResult r = run();
  ASSERT_EQ(only(r).repetitions.at(0).status, RepetitionStatus::ok);
  EXPECT_EQ(only(r).repetitions[0].phases[0].operations, 1u);
}

TEST_F(Engine, NoRepetitionStartsAfterTheBudget) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) {
    sleep_ms(60);
    operations(worker, 10, 1);
  };
  plan.plan.points[0].repeat.budget_s = 0.1;
  plan.need("fixed", 0.5);
  const RunResult r = run();
  EXPECT_GE(only(r).repetitions.size(), 1u);
  EXPECT_LT(only(r).repetitions.size(), 5u);
  EXPECT_EQ(only(r).status, PointStatus::ok);
  EXPECT_EQ(r.judgements[0].reason, Reason::few_reps);
}

TEST_F(Engine, AHangIsATimeoutAndTheRunStillEnds) {
  auto w = plan.add();
  plan.add();
  w->threads = 2;
  // Shared with the threads: they outlive this test's run.
  auto let_go = std::make_shared<std::atomic<bool>>(false);
  auto gone = std::make_shared<std::atomic<int>>(0);
  w->on_run = [let_go, gone](Worker& worker) {
    if (worker.index == 0) return;
    while (!let_go->load()) sleep_ms(1);
    operations(worker, 10, 1);
    ++*gone;
  };
  plan.need("fixed", 1);
  limits.stall_s = 0.4;
  limits.grace_s = 0.2;
  const unsigned before = abandoned_threads();
  const RunResult r = run();
  EXPECT_EQ(only(r).status, PointStatus::error);
  EXPECT_EQ(only(r).reason.find("TIMEOUT: 1 of 2 workers did not end within"), 0u) << only(r).reason;
  EXPECT_EQ(only(r).repetitions.size(), 1u);
  EXPECT_EQ(r.points[1].status, PointStatus::not_reached);
  EXPECT_EQ(r.judgements[0].outcome, Outcome::error);
  EXPECT_GT(abandoned_threads(), before);
  EXPECT_EQ(w->cleaned, 0u);  // still in use
  plan.plan.points.clear();
  w.reset();
  *let_go = true;  // the thread comes back and finds everything it needs
  for (int i = 0; i < 2000 && gone->load() == 0; ++i) sleep_ms(1);
  EXPECT_EQ(gone->load(), 1);
}

TEST_F(Engine, WrongDataIsAnError) {
  auto w = plan.add();
  w->on_run = [](Worker& worker) { operations(worker, 10, 1); };
  w->on_verify = [] { return std::vector<WrongBlock>{{"d000/f000001.bin", 4096, "all zero"}}; };
  plan.plan.points[0].verify = true;
  plan.plan.points[0].repeat.looks = {1};
  const RunResult r = run();
  EXPECT_EQ(only(r).status, PointStatus::error);
  EXPECT_EQ(only(r).reason, "verify found wrong data: d000/f000001.bin at offset 4096: all zero");
  EXPECT_TRUE(only(r).verified);
}

TEST_F(Engine, TheObserverHearsEverything) {
  struct Listener : RunObserver {
    std::string heard;
    std::atomic<int> live_calls{0};
    void point_started(const Point& p, std::size_t n, std::size_t of) override {
      heard += "start " + p.id + " " + std::to_string(n) + "/" + std::to_string(of) + ";";
    }
    void data_progress(std::uint64_t done, std::uint64_t, std::string_view what) override {
      heard += std::string(what) + " " + std::to_string(done) + ";";
    }
    void repetition_started(const Point&, unsigned i, unsigned look) override {
      heard += "rep " + std::to_string(i) + "/" + std::to_string(look) + ";";
    }
    void live(const Point&, const LiveRate&, double) override { ++live_calls; }
    void repetition_done(const Point&, const Repetition&) override { heard += "done;"; }
    void point_done(const PointResult&) override { heard += "end;"; }
  } listener;
  auto w = plan.add();
  w->on_prepare = [](const DataProgress& progress) { progress(5, 10, "making"); };
  w->on_run = [&](Worker& worker) {
    while (listener.live_calls.load() == 0) sleep_ms(1);
    operations(worker, 10, 1);
  };
  plan.plan.points[0].repeat.looks = {1};
  run_plan(plan.plan, node, listener, limits);
  EXPECT_EQ(listener.heard, "start p0 1/1;making 5;rep 0/1;done;end;");
  EXPECT_GT(listener.live_calls.load(), 0);
}

}  // namespace
}  // namespace headrace::engine_test
