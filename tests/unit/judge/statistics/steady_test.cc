// Warm-up cut, steady state and batch means on series whose answer is known.
#include "harness/judge/statistics/steady.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace headrace::statistics::steady_test {
namespace {

// The generator is fixed by the standard; the sum of twelve uniforms is normal enough.
struct Noise {
  std::mt19937_64 random;
  double operator()() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += std::ldexp(static_cast<double>(random() >> 11), -53);
    return sum;
  }
};

TEST(WarmupCut, CutsTheSlowStart) {
  std::vector<double> values{10, 40, 70};
  for (int i = 0; i < 40; ++i) values.push_back(100 + i % 2);
  EXPECT_EQ(warmup_cut(values), 3u);
}

TEST(WarmupCut, NothingToCutAndNeverMoreThanHalf) {
  EXPECT_EQ(warmup_cut(std::vector<double>{}), 0u);
  EXPECT_EQ(warmup_cut(std::vector<double>{5}), 0u);
  EXPECT_EQ(warmup_cut(std::vector<double>(50, 3.0)), 0u);
  std::vector<double> rising;
  for (int i = 0; i < 50; ++i) rising.push_back(i);
  EXPECT_EQ(warmup_cut(rising), 25u);
}

TEST(DifferingStart, IsOnlyAStartUnlikeTheRest) {
  std::vector<double> slow{10, 40, 70}, stall(40, 100), again;
  for (int i = 0; i < 40; ++i) slow.push_back(100 + i % 2);
  EXPECT_EQ(differing_start(slow).length, 3u);
  EXPECT_TRUE(differing_start(slow).slow);
  for (double& v : slow) v = 200 - v;
  EXPECT_EQ(differing_start(slow).length, 3u);
  EXPECT_FALSE(differing_start(slow).slow);
  stall[5] = stall[6] = 10;  // by standard errors alone it would be cut, with all before it
  EXPECT_EQ(warmup_cut(stall), 7u);
  EXPECT_EQ(differing_start(stall).length, 0u);
  again = {10, 10};
  for (int i = 0; i < 40; ++i) again.push_back(i % 10 == 0 ? 10 : 100);
  EXPECT_EQ(differing_start(again).length, 0u);
}

TEST(Steady, LevelSeriesWithNoiseIsSteady) {
  Noise noise{std::mt19937_64(3)};
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 60; ++i) values.push_back(100 + 10 * noise());
    EXPECT_TRUE(judge_steady(values).steady) << trial << " " << judge_steady(values).why;
  }
}

TEST(Steady, AStepOrADriftIsNot) {
  Noise noise{std::mt19937_64(4)};
  std::vector<double> step, drift;
  for (int i = 0; i < 60; ++i) {
    step.push_back((i < 30 ? 100 : 80) + noise());
    drift.push_back(100 + 0.3 * i + noise());
  }
  const Steady s = judge_steady(step);
  EXPECT_FALSE(s.steady);
  EXPECT_NEAR(s.halves_differ, -0.22, 0.03);
  EXPECT_NE(s.why.find("% slower"), std::string::npos) << s.why;
  const Steady d = judge_steady(drift);
  EXPECT_FALSE(d.steady);
  EXPECT_NEAR(d.drift, 0.16, 0.02);
}

TEST(Steady, TooFewPointsSayNothing) {
  EXPECT_TRUE(judge_steady(std::vector<double>{1, 2, 3, 4, 5, 6, 7}).steady);
  EXPECT_TRUE(judge_steady(std::vector<double>{}).steady);
  EXPECT_TRUE(judge_steady(std::vector<double>(20, 0.0)).steady);
}

TEST(BatchMeans, IndependentPointsUseManyBatches) {
  Noise noise{std::mt19937_64(5)};
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(50 + noise());
  const SingleRun run = batch_means(values);
  ASSERT_TRUE(run.usable);
  EXPECT_EQ(run.batches, 30u);
  EXPECT_LT(run.low, 50);
  EXPECT_GT(run.high, 50);
  EXPECT_NEAR(run.high - run.low, 2 * 2.045 / std::sqrt(1000.0), 0.05);
}

TEST(BatchMeans, CorrelatedPointsHoldTheTruthAboutAsOftenAsTheySay) {
  Noise noise{std::mt19937_64(6)};
  int held = 0, usable = 0;
  double correlation_time = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> values;
    double state = 0;
    for (int i = 0; i < 2000; ++i) {
      state = 0.8 * state + noise();
      values.push_back(100 + state);
    }
    const SingleRun run = batch_means(values);
    if (!run.usable) continue;
    ++usable;
    correlation_time += run.correlation_time / 200;
    if (run.low <= 100 && run.high >= 100) ++held;
  }
  EXPECT_GE(usable, 190);
  EXPECT_NEAR(correlation_time, 9, 2);  // (1 + 0.8) / (1 - 0.8)
  EXPECT_GE(held, 0.88 * usable);
}

TEST(BatchMeans, TooShortForItsCorrelationIsNotUsable) {
  std::vector<double> slow;
  for (int i = 0; i < 200; ++i) slow.push_back(std::sin(i / 40.0));
  EXPECT_FALSE(batch_means(slow).usable);
  EXPECT_FALSE(batch_means(std::vector<double>{1, 2, 3}).usable);
}

}  // namespace
}  // namespace headrace::statistics::steady_test
