#include "harness/workload/data/pipeline/step_log.h"

#include <gtest/gtest.h>

#include "harness/workload/data/pipeline/span_log.h"

namespace headrace::pipeline::step_log_test {
namespace {

constexpr std::uint64_t kCompute = 100;

/// Steps of that many [ns], in both accounts; what is no computing is waiting for data.
struct Reported {
  StepAccount account{kCompute};
  StepLog log;

  explicit Reported(const std::vector<std::uint64_t>& times, std::size_t room = 0) : log(room) {
    std::uint64_t now = 1000;
    for (const std::uint64_t time : times) {
      const StepClock::Step step{.begin_ns = now, .end_ns = now + time, .wait_ns = time - kCompute, .host_ns = 0};
      account.add(step, 0, 0.25);
      log.add(step, 0.25);
      now += time;
    }
  }
  PipelineTrace trace() const { return log.trace(account); }
};

TEST(StepLogTest, TheFirstAndTheSlowestButNotTheOneThatFillsThePipeline) {
  std::vector<std::uint64_t> times(100, 110);
  times[0] = 9000;
  times[70] = 500;
  times[90] = 400;
  const PipelineTrace trace = Reported(times).trace();
  ASSERT_EQ(trace.first.size(), StepLog::kShown);
  EXPECT_EQ(trace.first.front().number, 0u);
  EXPECT_DOUBLE_EQ(trace.first[1].begin_s, 9000e-9);
  ASSERT_EQ(trace.slowest.size(), StepLog::kShown);
  EXPECT_EQ(trace.slowest[StepLog::kShown - 2].number, 70u);
  EXPECT_EQ(trace.slowest.back().number, 90u);
  EXPECT_DOUBLE_EQ(trace.slowest.back().wait_s, 300e-9);
  for (const PipelineTrace::Step& step : trace.slowest) EXPECT_NE(step.number, 0u);
  EXPECT_TRUE(trace.steps.empty()) << "no room was asked for";
}

TEST(StepLogTest, WindowsHoldEveryStepAndAllTheTimeInBoundedRoom) {
  const std::vector<std::uint64_t> times(100'000, 125);
  const PipelineTrace trace = Reported(times, 10).trace();
  EXPECT_LE(trace.windows.size(), StepLog::kWindows + 1);
  EXPECT_GE(trace.windows.size(), StepLog::kWindows / 2);
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < trace.windows.size(); ++i) {
    const PipelineTrace::Window& w = trace.windows[i];
    steps += w.steps;
    EXPECT_LT(w.begin_s, w.end_s);
    EXPECT_DOUBLE_EQ(w.begin_s, i == 0 ? 0 : trace.windows[i - 1].end_s);
    EXPECT_NEAR(w.waiting, 0.2, 1e-12);
    EXPECT_NEAR(w.ready, 0.25, 1e-12);
  }
  EXPECT_EQ(steps, times.size());
  EXPECT_NEAR(trace.windows.back().end_s, 100'000 * 125e-9, 1e-12);
  EXPECT_EQ(trace.steps.size(), 10u) << "no more than there was room for";
}

TEST(StepLogTest, WithoutStepsThereIsNothing) {
  const PipelineTrace trace = Reported({}).trace();
  EXPECT_TRUE(trace.windows.empty() && trace.first.empty() && trace.slowest.empty());
}

TEST(StepAccountTest, APauseForACheckpointIsNoComputing) {
  Reported reported({1000, 100, 100});
  reported.account.stand(200);
  const Utilization u = utilization(reported.account, 1);
  EXPECT_DOUBLE_EQ(u.rule, 0.5);
  EXPECT_DOUBLE_EQ(u.save, 0.5);
  EXPECT_DOUBLE_EQ(u.wait, 0);
}

TEST(SpanLogTest, StepsWithoutRoomAreCounted) {
  SpanLog log(2);
  EXPECT_TRUE(log.keeps());
  log.add(SpanLog::Stage::reading, 10, 20, 3, 4);
  log.add(SpanLog::Stage::decoding, 20, 50, 3, 4);
  log.add(SpanLog::Stage::reading, 50, 57, 3, 5);
  const PipelineTrace::Worker worker = log.worker();
  ASSERT_EQ(worker.spans.size(), 2u);
  EXPECT_EQ(worker.spans[1].begin_ns, 20u);
  EXPECT_EQ(worker.spans[1].end_ns, 50u);
  EXPECT_EQ(worker.spans[1].batch, 3u);
  EXPECT_EQ(worker.spans[1].sample, 4u);
  EXPECT_EQ(worker.left_out, 1u);
  EXPECT_EQ(worker.left_out_ns[0], 7u);
  EXPECT_EQ(worker.left_out_ns[1], 0u);
}

TEST(SpanLogTest, WithoutRoomNothingIsCounted) {
  SpanLog log;
  log.add(SpanLog::Stage::reading, 10, 20, 0, 0);
  EXPECT_FALSE(log.keeps());
  EXPECT_EQ(log.worker().left_out, 0u);
}

}  // namespace
}  // namespace headrace::pipeline::step_log_test
