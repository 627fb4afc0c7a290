#include "harness/engine/loader_tuning.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

requirements::Job job() {
  requirements::Job job;
  job.step.time = 0.1;
  job.step.micro_batch = 32;
  job.dataset.sample_size = 1000;
  job.dataset.cpu_time_per_sample = 0.004;
  return job;
}

LoaderTuning::Tried tried(double workers, double low, double high) {
  return {.workers = workers, .rate = {.value = (low + high) / 2, .low = low, .high = high}};
}

TEST(LoaderTuningTest, TheFewestWhoseLowerBoundSuffices) {
  // Two GPUs take 640/s; 0.9 of it is 576.
  const LoaderTuning t =
      tune_loader(job(), 2, 640, {tried(8, 900, 1000), tried(4, 580, 600), tried(2, 570, 640), tried(1, 250, 300)});
  EXPECT_DOUBLE_EQ(t.needed, 576);
  ASSERT_TRUE(t.fewest);
  EXPECT_EQ(*t.fewest, 4) << "the bounds of 2 reach below what is needed";
  EXPECT_DOUBLE_EQ(t.memory, 2 * 4 * 2 * 32 * 1000.0);
  EXPECT_EQ(t.cores, 3) << "576/s of 4 ms each are 2.3 cores";
  ASSERT_EQ(t.told.size(), 3u);
  EXPECT_NE(t.told[1].find("num_workers=4, prefetch_factor=2"), std::string::npos) << t.told[1];
}

TEST(LoaderTuningTest, CoresFollowFromWhatDecodingWasMeasuredToCost) {
  requirements::Job of = job();
  EXPECT_EQ(tune_loader(of, 2, 640, {tried(4, 580, 600)}, 0.01).cores, 6) << "576/s of 10 ms each are 5.8 cores";
  of.dataset.cpu_time_per_sample.reset();
  EXPECT_EQ(tune_loader(of, 2, 640, {tried(4, 580, 600)}, 0.01).cores, 6);
  EXPECT_EQ(tune_loader(of, 2, 640, {tried(4, 580, 600)}).cores, 0) << "nothing is decoded";
}

TEST(LoaderTuningTest, NoNumberThatSufficesIsToldAndNoSetting) {
  const LoaderTuning t = tune_loader(job(), 2, 640, {tried(1, 250, 300), tried(2, 400, 420), tried(4, 380, 500)});
  EXPECT_FALSE(t.fewest);
  ASSERT_EQ(t.told.size(), 1u);
  EXPECT_NE(t.told[0].find("no number of workers that was tried, 1 to 4 of each GPU"), std::string::npos) << t.told[0];
  EXPECT_NE(t.told[0].find("2 give"), std::string::npos) << "the best one: " << t.told[0];
}

TEST(LoaderTuningTest, SettingsAreThoseOfTheJobsLoader) {
  requirements::Job of = job();
  of.loader.kind = requirements::LoaderKind::tfdata;
  const LoaderTuning t = tune_loader(of, 1, 320, {tried(4, 400, 410)});
  ASSERT_EQ(t.told.size(), 2u);
  EXPECT_NE(t.told[1].find("num_parallel_calls=4"), std::string::npos) << t.told[1];
}

}  // namespace
}  // namespace headrace
