#include "harness/workload/data/pipeline/step_clock.h"

#include <gtest/gtest.h>

namespace headrace::pipeline::step_clock_test {
namespace {

TEST(StepClockTest, ATimelyBatchCostsNothing) {
  StepClock clock(1, 1, 100);
  clock.start(1000);
  clock.take(0, 900, 1000);
  ASSERT_TRUE(clock.full());
  const StepClock::Step step = clock.end();
  EXPECT_EQ(step.begin_ns, 1000u);
  EXPECT_EQ(step.end_ns, 1100u);
  EXPECT_EQ(step.wait_ns + step.host_ns, 0u);
}

TEST(StepClockTest, DataThatCameLateIsWaitedFor) {
  StepClock clock(1, 1, 100);
  clock.start(1000);
  clock.take(0, 1040, 1050);  // seen a little later, which a host that launches ahead would not be
  const StepClock::Step step = clock.end();
  EXPECT_EQ(step.end_ns, 1140u);
  EXPECT_EQ(step.wait_ns, 40u);
  EXPECT_EQ(step.host_ns, 0u);
}

TEST(StepClockTest, AHostThatOversleepsIsNotCountedAsComputing) {
  StepClock clock(1, 1, 100);
  clock.start(1000);
  clock.take(0, 900, 1350);  // the batch was there; nobody looked for three and a half batches' time
  const StepClock::Step step = clock.end();
  EXPECT_EQ(step.end_ns, 1350u);
  EXPECT_EQ(step.host_ns, 250u) << "one batch ahead had been launched";
  EXPECT_EQ(step.wait_ns, 0u);
}

TEST(StepClockTest, AllGpusWaitForTheSlowest) {
  StepClock clock(2, 1, 100);
  clock.start(1000);
  clock.take(0, 1000, 1000);
  EXPECT_FALSE(clock.full());
  EXPECT_FALSE(clock.wants(0));
  EXPECT_TRUE(clock.wants(1));
  clock.take(1, 1060, 1060);
  const StepClock::Step step = clock.end();
  EXPECT_EQ(step.end_ns, 1160u);
  EXPECT_EQ(step.wait_ns, 30u) << "the mean of both";
  EXPECT_EQ(clock.free_ns(0), 1160u);
}

TEST(StepClockTest, AStepOfSeveralBatches) {
  StepClock clock(1, 3, 100);
  clock.start(0);
  clock.take(0, 0, 0);
  EXPECT_EQ(clock.free_ns(0), 100u);
  clock.take(0, 50, 100);
  clock.take(0, 260, 260);
  ASSERT_TRUE(clock.full());
  const StepClock::Step step = clock.end();
  EXPECT_EQ(step.end_ns, 360u);
  EXPECT_EQ(step.wait_ns, 60u);
  EXPECT_FALSE(clock.full());
}

TEST(StepClockTest, WithoutComputingAStepEndsWhenItsBatchIsTaken) {
  StepClock clock(1, 1, 0);
  clock.start(1000);
  clock.take(0, 1010, 1030);
  const StepClock::Step step = clock.end();
  EXPECT_EQ(step.end_ns, 1030u);
  EXPECT_EQ(step.wait_ns, 10u);
  EXPECT_EQ(step.host_ns, 20u);
}

TEST(StepClockTest, ACopyComesBeforeComputing) {
  StepClock clock(1, 1, 100);
  clock.start(1000);
  clock.take(0, 1040, 1075, 30);
  StepClock::Step step = clock.end();
  EXPECT_EQ(step.end_ns, 1170u);
  EXPECT_EQ(step.wait_ns, 40u);
  EXPECT_EQ(step.copy_ns, 30u);
  EXPECT_EQ(step.host_ns, 0u);
  clock.take(0, 1100, 1350,
             30);  // arrived at 1200; the host looked two and a half batches' time after the GPU was free
  step = clock.end();
  EXPECT_EQ(step.copy_ns, 30u);
  EXPECT_EQ(step.host_ns, 50u);
  EXPECT_EQ(step.end_ns, 1350u);
}

TEST(StepClockTest, ReportsHowLongGpusHaveHadNothing) {
  StepClock clock(2, 1, 100);
  clock.start(1000);
  EXPECT_EQ(clock.starved_ns(1000), 0u);
  EXPECT_EQ(clock.starved_ns(1500), 500u);
  clock.take(0, 1000, 1000);
  EXPECT_EQ(clock.starved_ns(1500), 250u) << "one of two";
  clock.take(1, 1000, 1500);
  EXPECT_EQ(clock.starved_ns(9000), 0u) << "both have theirs";
}

}  // namespace
}  // namespace headrace::pipeline::step_clock_test
