#include "harness/workload/data/pipeline/step_account.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

TEST(StepAccountTest, ALateHostThatPausedLongerIsCountedOnce) {
  StepAccount account(kCompute);
  for (std::uint64_t now = 0; now < 10 * 200; now += 200)
    account.add({.begin_ns = now, .end_ns = now + 200, .copy_ns = 20, .host_ns = 50, .others_ns = 30}, 20, 1);
  account.stand(200);
  const Utilization u = utilization(account, 1);
  EXPECT_DOUBLE_EQ(u.dlio, (9 * 100 + 9 * 20) / 2000.0);
  EXPECT_DOUBLE_EQ(u.copy, 9 * 20 / 2000.0);
  EXPECT_DOUBLE_EQ(u.others, 9 * 30 / 2000.0);
  EXPECT_DOUBLE_EQ(u.save, 0.1);
  EXPECT_EQ(account.began_ns(), 0u);
}

TEST(StepAccountTest, BoundsFollowStudentsDistributionFromFourStepsOn) {
  const double half = 3.182446305284263 * std::sqrt(400.0 / 3 / 4);  // t(0.975, 3); 190 and 210, twice
  const Utilization u = utilization(account_of({1000, 190, 210, 190, 210}), 1);
  EXPECT_EQ(u.windows, 4u);
  EXPECT_NEAR(u.low, 100 / (200 + half), 1e-6);
  EXPECT_NEAR(u.high, 100 / (200 - half), 1e-6);
  EXPECT_EQ(utilization(account_of({1000, 190, 210, 190}), 1).windows, 0u);
  StepAccount idle(0);
  for (std::uint64_t now = 0; now < 1000; now += 100) idle.add({.begin_ns = now, .end_ns = now + 100}, 0, 1);
  EXPECT_EQ(utilization(idle, 1).windows, 0u) << "GPUs that compute nothing have no utilization";
}

TEST(StepAccountTest, BoundsHoldTheMeanWithoutTheFillingOfThePipeline) {
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

TEST(StepAccountTest, ParallelPreparationIsNoUtilizationOfALongEpoch) {
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
  EXPECT_DOUBLE_EQ(between.rule, (0.5 + 8800.0 / 19200) / 2);
  EXPECT_DOUBLE_EQ(between.wait, 1 - between.rule);
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

TEST(StepAccountTest, ReadAheadIsAtMostHalfOfAllSteps) {
  std::vector<std::uint64_t> times{2000};
  const auto add = [&times](std::size_t count, std::uint64_t ns) { times.insert(times.end(), count, ns); };
  add(7, 100);
  add(8, 400);
  add(32, 200);
  add(48, 250);
  const double later = 0.4, all = 8800.0 / (8 * 400 + 32 * 200 + 48 * 250);
  const Utilization half = settled_utilization(account_of(times), 8, 1000);
  EXPECT_DOUBLE_EQ(half.rule, (later + all) / 2) << "48 of 96";
  EXPECT_GT(half.high, all) << "either may be true";
  EXPECT_LE(half.low, later);
  times.resize(64);  // four times the 16 that are left out
  std::fill(times.begin() + 16, times.end(), 200);
  EXPECT_DOUBLE_EQ(settled_utilization(account_of(times), 8, 8).rule, 0.5);
  times.pop_back();
  EXPECT_LT(settled_utilization(account_of(times), 8, 8).rule, 0.5) << "too few to leave them out";
  EXPECT_DOUBLE_EQ(settled_utilization(account_of({900, 200, 200, 100}), 0, 0).rule, 0.6)
      << "a process that reads itself";
  EXPECT_DOUBLE_EQ(settled_utilization(account_of({900, 200, 200, 100}), 1, 0).rule, 0.6) << "one worker";
}

TEST(StepAccountTest, ARateIsOfTheStepsAfterThoseThatCameTogether) {
  std::vector<std::uint64_t> times{8000};
  times.insert(times.end(), 7, 100);
  times.push_back(1000);
  times.insert(times.end(), 23, 200);
  EXPECT_DOUBLE_EQ(settled_step_rate(account_of(times), 8), 1e9 * 24 / (1000 + 23 * 200));
  times.pop_back();
  EXPECT_DOUBLE_EQ(settled_step_rate(account_of(times), 8), 1e9 * 31 / (8700 + 1000 + 22 * 200)) << "too few";
  EXPECT_DOUBLE_EQ(settled_step_rate(account_of({1000, 200, 300}), 1), 1e9 * 2 / 500);
  EXPECT_DOUBLE_EQ(settled_step_rate(account_of({1000, 200, 300}), 2), 1e9 * 3 / 1500);
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
  account.starved(150);
  EXPECT_DOUBLE_EQ(settled_utilization(account, 1, 0).rule, 0.5) << "twice the longest wait, and a step";
  account.starved(1);
  EXPECT_DOUBLE_EQ(settled_utilization(account, 1, 0).rule, 2000.0 / 4301);
  account.starved(4000 - 301);
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
  none.stand(400);
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
  std::vector<std::uint64_t> times(50'001);
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = i % 2 == 0 && i > 25'000 ? 150 : 100 + 25 * (i < 25'001);
  const StepAccount account = account_of(times);
  EXPECT_EQ(account.others().size(), 3125u) << "sixteen steps in each";
  const Utilization u = utilization(account, 1);
  EXPECT_EQ(u.steps, 50'000u);
  EXPECT_DOUBLE_EQ(u.rule, 0.8);
  EXPECT_DOUBLE_EQ(u.wait, 0.2);
}

}  // namespace
}  // namespace headrace::pipeline::step_account_test
