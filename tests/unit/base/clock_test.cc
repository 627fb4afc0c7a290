#include "harness/base/clock.h"

#include <gtest/gtest.h>

namespace headrace::clock_test {
namespace {

TEST(ClockTest, SleepsUntilTheMomentAndNeverLess) {
  for (const std::uint64_t wait : {0, 1'000, 60'000, 2'000'000}) {
    const std::uint64_t until = now_ns() + wait;
    sleep_until(until);
    EXPECT_GE(now_ns(), until);
  }
}

TEST(ClockTest, DoesNotSleepForAPastMoment) {
  sleep_until(0);
  sleep_until(now_ns() - 1);
}

}  // namespace
}  // namespace headrace::clock_test
