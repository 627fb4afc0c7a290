#include "harness/judge/statistics/mean_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace headrace::statistics::mean_rate_test {
namespace {

TEST(MeanRate, IsTotalWorkOverTotalTime) {
  EXPECT_DOUBLE_EQ(mean_rate(std::vector<double>{100, 200}, std::vector<double>{1, 3}, 0.05).value, 175);
}

/// What took a thousandth of the time says next to nothing, however far off it is.
TEST(MeanRate, AShortRepetitionHardlyWidensTheBounds) {
  const std::vector<double> rates{100, 101, 99, 100, 101, 99, 100, 101, 99, 100, 100, 100, 100, 100, 10};
  std::vector<double> seconds(rates.size(), 1);
  const Bounded as_long = mean_rate(rates, seconds, 0.05);
  seconds.back() = 1e-3;
  const Bounded short_one = mean_rate(rates, seconds, 0.05);
  EXPECT_GT(as_long.high / as_long.value, 1.1);
  EXPECT_LT(short_one.high / short_one.value, 1.02);
}

}  // namespace
}  // namespace headrace::statistics::mean_rate_test
