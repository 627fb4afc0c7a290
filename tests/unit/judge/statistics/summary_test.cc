// Known answers for medians, intervals, look plans and bounds.
#include "harness/judge/statistics/summary.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace headrace::statistics::summary_test {
namespace {

TEST(Summary, Median) {
  EXPECT_EQ(median(std::vector<double>{3}), 3);
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 2, 3}), 2.5);
}

TEST(Summary, FewerThanSixValuesGiveTheirRange) {
  const Interval i = median_interval(std::vector<double>{3, 1, 2});
  EXPECT_TRUE(i.is_range);
  EXPECT_EQ(i.low, 1);
  EXPECT_EQ(i.high, 3);
}

TEST(Summary, BootstrapIsReproducible) {
  // The same draws (splitmix64, seed 1) and numpy.quantile give 9.85 and 10.3.
  const std::vector<double> values{10.0, 10.4, 9.7, 10.1, 10.9, 9.9, 10.2, 10.3, 9.5, 10.0};
  const Interval i = median_interval(values);
  EXPECT_FALSE(i.is_range);
  EXPECT_NEAR(i.low, 9.85, 1e-12);
  EXPECT_NEAR(i.high, 10.3, 1e-12);
  const Interval same = median_interval(std::vector<double>(6, 7.0));
  EXPECT_EQ(same.low, 7);
  EXPECT_EQ(same.high, 7);
}

TEST(Summary, ManyValuesAreBoundedByTheirRanks) {
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((i * 7) % 1000);
  const Interval i = median_interval(values);
  EXPECT_EQ(i.low, 469);  // (1000 - 1.96 * sqrt(1000)) / 2 values lie below
  EXPECT_EQ(i.high, 530);
  values.pop_back();  // 999 values: by bootstrap, which ends nearly there
  const Interval drawn = median_interval(values);
  EXPECT_NEAR(drawn.low, 469, 8);
  EXPECT_NEAR(drawn.high, 530, 8);
}

TEST(LookPlan, FiveTenFifteen) {
  const LookPlan plan = plan_looks({5, 10, 15});
  EXPECT_EQ(plan.ranks, (std::vector<unsigned>{1, 2, 4}));
  EXPECT_DOUBLE_EQ(plan.error, 0.0458984375);
}

// The chance over all sequences of good and bad values, one by one.
double exhaustive(const LookPlan& plan) {
  const unsigned all = plan.looks.back();
  std::uint64_t passed = 0;
  for (std::uint64_t bad = 0; bad < (std::uint64_t{1} << all); ++bad) {
    for (std::size_t i = 0; i < plan.looks.size(); ++i) {
      const std::uint64_t seen = bad & ((std::uint64_t{1} << plan.looks[i]) - 1);
      if (std::popcount(seen) < static_cast<int>(plan.ranks[i])) {
        ++passed;
        break;
      }
    }
  }
  return std::ldexp(static_cast<double>(passed), -static_cast<int>(all));
}

TEST(LookPlan, ErrorIsExactAndRanksCannotBeLarger) {
  for (const std::vector<unsigned>& looks :
       {std::vector<unsigned>{5}, {3, 6}, {5, 8, 11, 13}, {6, 12}, {5, 10, 15, 20}, {4}, {1, 2, 3}}) {
    const LookPlan plan = plan_looks(looks);
    EXPECT_NEAR(plan.error, exhaustive(plan), 1e-15);
    EXPECT_LE(plan.error, 0.05);
    LookPlan bolder = plan;
    ++bolder.ranks.back();
    EXPECT_GT(exhaustive(bolder), 0.05);
  }
  EXPECT_EQ(plan_looks({4}).ranks, std::vector<unsigned>{0});
  EXPECT_EQ(plan_looks({15, 5, 10, 5, 0}).looks, (std::vector<unsigned>{5, 10, 15}));
}

TEST(LookPlan, BetweenLooksTheEarlierRankHolds) {
  const LookPlan plan = plan_looks({5, 10, 15});
  EXPECT_EQ(rank_for(plan, 4), 0u);
  EXPECT_EQ(rank_for(plan, 5), 1u);
  EXPECT_EQ(rank_for(plan, 9), 1u);
  EXPECT_EQ(rank_for(plan, 10), 2u);
  EXPECT_EQ(rank_for(plan, 40), 4u);
}

TEST(OrderBounds, KthWorstAndKthBest) {
  const std::vector<double> values{5, 3, 9, 1, 7};
  EXPECT_EQ(order_bounds(values, 1).low, 1);
  EXPECT_EQ(order_bounds(values, 1).high, 9);
  EXPECT_EQ(order_bounds(values, 2).low, 3);
  EXPECT_EQ(order_bounds(values, 2).high, 7);
  EXPECT_TRUE(std::isinf(order_bounds(values, 0).low));
  EXPECT_TRUE(std::isinf(order_bounds(values, 6).high));
}

TEST(TwoHumped, FindsAGapBetweenTwoGroups) {
  double below = 0, above = 0;
  EXPECT_TRUE(two_humped(std::vector<double>{100, 101, 102, 150, 151, 150}, &below, &above));
  EXPECT_EQ(below, 102);
  EXPECT_EQ(above, 150);
  // One outlier, an even spread, and a gap smaller than 5 % are no humps.
  EXPECT_FALSE(two_humped(std::vector<double>{100, 101, 102, 101, 150}, &below, &above));
  EXPECT_FALSE(two_humped(std::vector<double>{100, 110, 120, 130, 140, 150}, &below, &above));
  EXPECT_FALSE(two_humped(std::vector<double>{100, 100, 100, 104, 104, 104}, &below, &above));
  EXPECT_FALSE(two_humped(std::vector<double>{100, 100, 150, 150}, &below, &above));
}

}  // namespace
}  // namespace headrace::statistics::summary_test
