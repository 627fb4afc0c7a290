#include "harness/workload/data/pipeline/step_account.h"

#include <gtest/gtest.h>

#include "harness/job/formula.h"

namespace headrace::pipeline::step_account_test {
namespace {

constexpr std::uint64_t kCompute = 100;

/// Steps that take `times` [ns] each, of which what is no computing is waiting for data.
StepAccount account_of(const std::vector<std::uint64_t>& times, std::uint64_t late_ns = 0) {
  StepAccount account(kCompute);
  std::uint64_t now = 1000;
  for (const std::uint64_t time : times) {
    account.add({.begin_ns = now, .end_ns = now + time, .wait_ns = time - kCompute, .host_ns = 0}, late_ns, 0.5);
    now += time;
  }
  return account;
}

TEST(StepAccountTest, ThreeUtilizations) {
  const StepAccount account = account_of({1100, 125, 125, 125, 125}, 10);
  const Utilization u = utilization(account, 1);
  EXPECT_EQ(u.steps, 4u);
  EXPECT_DOUBLE_EQ(u.rule, job::apply("A21", {{"samples_count", 4 * 8},
                                              {"accelerators_count", 1},
                                              {"batch_samples_count", 8},
                                              {"computation_time_s", 100e-9},
                                              {"epochs_count", 1},
                                              {"total_time_s", 500e-9}})
                               .value());
  EXPECT_DOUBLE_EQ(u.dlio, (4 * 100 + 4 * 10) / (500.0 + 4 * 10)) << "oversleeping looks like computing there";
  EXPECT_DOUBLE_EQ(u.ideal, 500.0 / 1600) << "the first step counts";
  EXPECT_DOUBLE_EQ(u.wait, 0.2);
  EXPECT_DOUBLE_EQ(u.ready, 0.5);
}

TEST(StepAccountTest, AHostThatIsLateLowersTheRulesAndNotDlios) {
  StepAccount account(kCompute);
  for (std::uint64_t now = 0; now < 10 * 200; now += 200)
    account.add({.begin_ns = now, .end_ns = now + 200, .wait_ns = 0, .host_ns = 100}, 100, 1);
  const Utilization u = utilization(account, 1);
  EXPECT_DOUBLE_EQ(u.rule, 0.5);
  EXPECT_DOUBLE_EQ(u.host, 0.5);
  EXPECT_DOUBLE_EQ(u.dlio, 1);
}

TEST(StepAccountTest, BoundsHoldTheMeanAndLeaveOutWhatWasPreparedWhileThePipelineFilled) {
  std::vector<std::uint64_t> times{5000};
  for (int i = 0; i < 7; ++i) times.push_back(100);  // eight workers had their first batch ready together
  for (int i = 0; i < 400; ++i) times.push_back(i % 2 == 0 ? 190 : 210);
  const Utilization u = utilization(account_of(times), 8);
  EXPECT_EQ(u.windows, 20u);
  EXPECT_LE(u.low, 0.5 + 1e-9);
  EXPECT_GE(u.high, 0.5 - 1e-9);
  EXPECT_LT(u.high - u.low, 0.01);
  EXPECT_GT(u.rule, 0.5) << "the rule leaves out the first step alone";
  EXPECT_NEAR(settled_step_rate(account_of(times), 8), 1e9 / 200, 1);
}

TEST(StepAccountTest, WhatWorkersPreparedSideBySideIsNoUtilizationOfALongEpoch) {
  std::vector<std::uint64_t> times{2000};
  for (int i = 0; i < 7; ++i) times.push_back(100);
  for (int i = 0; i < 8; ++i) times.push_back(400);
  EXPECT_NEAR(utilization(account_of(times), 8).rule, 15.0 / 39, 1e-9);
  const Utilization settled = settled_utilization(account_of(times), 8, 0);
  EXPECT_DOUBLE_EQ(settled.rule, 0.25);
  EXPECT_DOUBLE_EQ(settled.wait, 0.75);
  EXPECT_EQ(settled.steps, 15u);
  // Read-ahead is left out, too, where that leaves much more; else the truth lies between.
  std::vector<std::uint64_t> slow_at_first = times;
  slow_at_first.insert(slow_at_first.end(), 80, 200);
  EXPECT_DOUBLE_EQ(settled_utilization(account_of(slow_at_first), 8, 8).rule, 0.5);
  const Utilization between = settled_utilization(account_of(slow_at_first), 8, 1000);
  EXPECT_LT(between.rule, 0.5);
  EXPECT_LT(between.low, between.rule);
  EXPECT_GE(between.high, 0.5 - 1e-9);
}

TEST(StepAccountTest, WorkersThatEndTogetherCountByWholeRounds) {
  for (std::size_t steps = 12; steps < 60; ++steps) {
    std::vector<std::uint64_t> times{5000, 100, 100, 100};  // four workers, and a step of 100
    while (times.size() < steps) times.push_back(times.size() % 4 == 0 ? 300 : 100);
    EXPECT_DOUBLE_EQ(settled_utilization(account_of(times), 4, 0).rule, 400.0 / 600) << steps;
  }
}

TEST(StepAccountTest, ARateIsNotThatOfBatchesThatCameTogether) {
  std::vector<std::uint64_t> times{8000};
  times.insert(times.end(), 7, 100);
  EXPECT_NEAR(settled_step_rate(account_of(times), 8), 1e9 * 8 / 8700, 1);
}

TEST(StepAccountTest, AWaitThatTheTimeCutsOffIsNoStepUnlessStorageStalls) {
  std::vector<std::uint64_t> times(21, 200);
  StepAccount account = account_of(times);
  account.starved(150);
  EXPECT_DOUBLE_EQ(settled_utilization(account, 1, 0).rule, 0.5);
  account.starved(4000 - 150);
  EXPECT_DOUBLE_EQ(settled_utilization(account, 1, 0).rule, 2000.0 / 8000) << "it counts where it is long";
}

TEST(StepAccountTest, FewerStepsThanWorkersAreNoBusyGpu) {
  const Utilization settled = settled_utilization(account_of({4000, 100, 100}), 4, 0);
  EXPECT_DOUBLE_EQ(settled.rule, 300.0 / 4200) << "three batches came together after so long";
  EXPECT_DOUBLE_EQ(settled.wait, 1 - settled.rule);
  EXPECT_DOUBLE_EQ(settled.high, settled.rule);
}

TEST(StepAccountTest, BoundsAreOfTheTotalTimeAndNotOfAMeanOfShares) {
  std::vector<std::uint64_t> times{1000};
  for (int i = 0; i < 1000; ++i) times.push_back(i % 10 == 0 ? 1100 : 100);  // data comes in bursts: 200 on average
  for (const std::size_t steps : {41, 1001}) {
    const Utilization u =
        utilization(account_of({times.begin(), times.begin() + static_cast<std::ptrdiff_t>(steps)}), 1);
    EXPECT_NEAR(u.rule, 0.5, 1e-9);
    EXPECT_LE(u.low, 0.5);
    EXPECT_GE(u.high, 0.5 - 1e-9);
    EXPECT_LT(1 / u.low - 2, 1.0) << steps;
    EXPECT_NEAR(1 / u.low - 2, 2 - 1 / u.high, u.high < 1 ? 1e-9 : 1) << "as far up as down, in time";
  }
}

TEST(StepAccountTest, AWaitThatNoStepEndedIsInTheTotal) {
  StepAccount account = account_of({1000, 100, 100, 100, 100});
  EXPECT_DOUBLE_EQ(utilization(account, 1).rule, 1);
  account.starved(400);
  const Utilization u = utilization(account, 1);
  EXPECT_EQ(u.steps, 4u);
  EXPECT_DOUBLE_EQ(u.rule, 0.5);
  EXPECT_DOUBLE_EQ(u.wait, 0.5);
  StepAccount none(kCompute);
  none.starved(400);
  EXPECT_EQ(utilization(none, 1).steps, 0u);
}

TEST(StepAccountTest, TooFewStepsHaveNoBounds) {
  const Utilization u = utilization(account_of({200, 200, 200}), 1);
  EXPECT_EQ(u.windows, 0u);
  EXPECT_EQ(u.low, u.rule);
  EXPECT_EQ(utilization(account_of({200}), 1).steps, 0u);
  EXPECT_EQ(settled_step_rate(account_of({200}), 1), 0);
  EXPECT_EQ(utilization(StepAccount(kCompute), 1).rule, 0);
}

TEST(StepAccountTest, NoPhaseIsTooLong) {
  std::vector<std::uint64_t> times(50'001, 125);
  const StepAccount account = account_of(times);
  EXPECT_LE(account.others().size(), 4096u);
  const Utilization u = utilization(account, 1);
  EXPECT_EQ(u.steps, 50'000u);
  EXPECT_DOUBLE_EQ(u.rule, 0.8);
  EXPECT_DOUBLE_EQ(u.wait, 0.2);
}

}  // namespace
}  // namespace headrace::pipeline::step_account_test
