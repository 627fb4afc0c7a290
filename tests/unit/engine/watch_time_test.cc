#include "harness/engine/watch_time.h"

#include <gtest/gtest.h>

namespace headrace::engine::watch_time_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

const WatchTime::Clock::time_point kBegin{};

TEST(WatchTime, AStopOfTheProcessIsNoTimeWithoutProgress) {
  WatchTime time(kBegin);
  time.look(kBegin + milliseconds(50));
  EXPECT_DOUBLE_EQ(time.look(kBegin + hours(1)), 3599.95);  // stopped, paused or asleep
  EXPECT_DOUBLE_EQ(time.seconds(), 0.15);
  time.look(kBegin + hours(1) + milliseconds(50));
  EXPECT_DOUBLE_EQ(time.seconds(), 0.2);
}

TEST(WatchTime, LooksThatComeAsTheyShouldCountInFull) {
  for (const milliseconds each : {WatchTime::kLook, WatchTime::kMost}) {  // at ease, and on a busy machine
    WatchTime time(kBegin);
    for (int i = 1; i <= 6000; ++i) time.look(kBegin + i * each);
    EXPECT_NEAR(time.seconds(), std::chrono::duration<double>(6000 * each).count(), 1e-9);  // 5 min: a TIMEOUT
  }
}

}  // namespace
}  // namespace headrace::engine::watch_time_test
