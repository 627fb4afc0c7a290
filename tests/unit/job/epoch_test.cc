// Utilization of an epoch's wall clock: with a fill, and where nothing can be said of one.
#include "harness/job/epoch.h"

#include <gtest/gtest.h>

namespace headrace::job {
namespace {

/// 15 GPUs of 7 samples a step, 571 steps an epoch, 8 workers each.
Job unet() {
  Job job;
  job.cluster.nodes = 5;
  job.cluster.gpus_per_node = 3;
  job.step.time = 0.323;
  job.step.micro_batch = 7;
  job.dataset.samples = 60000;
  job.dataset.sample_size = 146600628;
  job.loader.workers_per_gpu = 8;
  return job;
}

TEST(WallClock, HasTheFillOfThePipeline) {
  const auto wall = priced_wall_clock_of(unet(), 43.3e9, 0.9271);
  ASSERT_TRUE(wall);
  EXPECT_EQ(wall->steps, 571);
  EXPECT_NEAR(wall->fill_s, 15.0 * 8 * 7 * 146600628 / 43.3e9, 1e-9);
  EXPECT_NEAR(wall->utilization, 571 * 0.323 / (wall->fill_s + 0.323 + 570 * 0.323 / 0.9271), 1e-9);
  EXPECT_LT(wall->utilization, 0.9271 - 0.01);
}

TEST(WallClock, IsTheWholeEpochForGpusThatNeverWait) {
  EXPECT_NEAR(wall_clock_of(unet(), 0, 1)->utilization, 1, 1e-12);
}

TEST(WallClock, ASharedBatchIsFilledByOneLoader) {
  Job job = unet();
  const double eight = priced_wall_clock_of(job, 43.3e9, 0.9)->fill_s;
  job.loader.kind = LoaderKind::tfdata;
  EXPECT_NEAR(priced_wall_clock_of(job, 43.3e9, 0.9)->fill_s, eight / 8, 1e-9);
}

TEST(WallClock, IsNotReportedWithoutItsInputs) {
  Job job = unet();
  job.loader.workers_per_gpu.reset();
  EXPECT_FALSE(priced_wall_clock_of(job, 43.3e9, 0.9)) << "nothing says how much is asked for at once";
  EXPECT_TRUE(wall_clock_of(job, 2.9, 0.9)) << "but the fill was measured";
  EXPECT_FALSE(wall_clock_of(job, 2.9, 0));
  EXPECT_FALSE(priced_wall_clock_of(unet(), 0, 0.9));
  job.dataset.samples = 105 * 1.5;
  EXPECT_FALSE(wall_clock_of(job, 2.9, 0.9)) << "one step";
  job.dataset.samples.reset();
  EXPECT_FALSE(wall_clock_of(job, 2.9, 0.9));
}

}  // namespace
}  // namespace headrace::job
