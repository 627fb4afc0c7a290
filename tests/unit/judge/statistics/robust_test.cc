// The middle and the spread of what most values say (rule F4).
#include "harness/judge/statistics/robust.h"

#include <gtest/gtest.h>

#include <vector>

namespace headrace::statistics::robust_test {
namespace {

TEST(Robust, ScaledMedianAbsoluteDeviation) {
  const Robust r = robust(std::vector<double>{1, 2, 3, 4, 100});
  EXPECT_EQ(r.median, 3);
  EXPECT_DOUBLE_EQ(r.spread, 1.4826);  // of |x - 3| = 2 1 0 1 97 the median is 1
  EXPECT_DOUBLE_EQ(r.z(3 + 2 * 1.4826), 2);
  EXPECT_DOUBLE_EQ(r.z(3 - 2 * 1.4826), -2);
}

/// Values that are all but equal make no outlier of the one that differs by a thousandth.
TEST(Robust, SpreadIsHalfAPercentOfTheMedianAtLeast) {
  EXPECT_DOUBLE_EQ(robust(std::vector<double>{200, 200, 200, 200, 200.2}).spread, 1);
  EXPECT_DOUBLE_EQ(robust(std::vector<double>{-200, -200, -200}).spread, 1);
  EXPECT_NEAR(robust(std::vector<double>{100, 100.4, 99.6}).spread, 1.4826 * 0.4, 1e-12);
}

TEST(Robust, WithoutAnySpreadNothingLiesOut) {
  const Robust r = robust(std::vector<double>{0, 0, 0});
  EXPECT_EQ(r.spread, 0);
  EXPECT_EQ(r.z(5), 0);
}

}  // namespace
}  // namespace headrace::statistics::robust_test
