#include "harness/engine/probe.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace headrace::engine::probe_test {
namespace {

TEST(Probe, TakesSomeTimeAndLeavesTheThreadWhereItMayRun) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GT(take_probe(), 1000);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(Probe, DriftIsTheChange) {
  EXPECT_NEAR(probe_drift(100, 110), 0.1, 1e-12);
  EXPECT_NEAR(probe_drift(100, 80), -0.2, 1e-12);
  EXPECT_EQ(probe_drift(-1, 80), 0);
  EXPECT_EQ(probe_drift(80, -1), 0);
}

TEST(Probe, OfSeveralTakenAfterwardsTheNearestCounts) {
  const double before = take_probe();
  const double after = take_probe_after(before);
  EXPECT_GT(after, 0);
  // From a machine that was a hundred times faster, nothing is near: what was taken last is.
  EXPECT_GT(probe_drift(before / 100, take_probe_after(before / 100)), kProbeDrift);
}

}  // namespace
}  // namespace headrace::engine::probe_test
