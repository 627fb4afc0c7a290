// Two humps and one: how often one is taken for two, by simulation, and which two are found.
#include "harness/judge/statistics/humps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "harness/judge/statistics/draws.h"

namespace headrace::statistics::humps_test {
namespace {

double normal(Draws& draws) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += draws.share();
  return sum;
}

/// Shares of samples with two humps found: the second half lies `apart` standard deviations off.
double found(std::size_t count, double apart, int trials, bool uniform = false) {
  Draws draws(count);
  int all = 0;
  for (int t = 0; t < trials; ++t) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i)
      values.push_back((uniform ? draws.share() : normal(draws)) + (2 * i < count ? 0 : apart));
    all += two_humps(values).has_value();
  }
  return static_cast<double>(all) / trials;
}

TEST(Humps, OneIsSeldomTakenForTwo) {
  for (const std::size_t count : {8u, 10u, 16u, 32u, 64u, 256u}) {
    EXPECT_LE(found(count, 0, 2000), 0.003) << count;
    EXPECT_LE(found(count, 0, 1000, true), 0.02) << count;
  }
}

TEST(Humps, TwoAreFound) {
  EXPECT_GE(found(10, 10, 500), 0.9);
  EXPECT_GE(found(16, 10, 500), 0.99);
  EXPECT_GE(found(64, 5, 300), 0.9);
  EXPECT_LE(found(64, 3, 300), 0.1);  // hardly apart: one wide hump
}

TEST(Humps, TheGapIsReported) {
  const auto humps = two_humps(std::vector<double>{10, 1, 11, 2, 12, 3, 10, 2});
  ASSERT_TRUE(humps);
  EXPECT_EQ(humps->below, 3);
  EXPECT_EQ(humps->above, 10);
}

TEST(Humps, FewerThanAQuarterAreOutliers) {
  std::vector<double> values(24, 1.0);
  for (std::size_t i = 0; i < 24; ++i) values[i] += 0.001 * static_cast<double>(i % 4);
  for (int i = 0; i < 5; ++i) values[static_cast<std::size_t>(i)] = 2;
  EXPECT_FALSE(two_humps(values));
  values[5] = 2;
  EXPECT_TRUE(two_humps(values));
  EXPECT_FALSE(two_humps(std::vector<double>{1, 1, 2, 2, 2}));  // two are no hump
  EXPECT_TRUE(two_humps(std::vector<double>{1, 1, 1, 2, 2, 2}));
  EXPECT_FALSE(two_humps(std::vector<double>(20, 1.0)));
}

TEST(Humps, TheLimitFallsWithTheNumber) {
  EXPECT_NEAR(humps_limit(9), 0.95, 1e-12);
  EXPECT_NEAR(humps_limit(36), 0.85, 1e-12);
}

}  // namespace
}  // namespace headrace::statistics::humps_test
