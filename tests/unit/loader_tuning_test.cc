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

LoaderTuning tuned(const requirements::Job& job, double gpus, double taken, std::vector<LoaderTuning::Tried> tried,
                   double cpu_time_s = 0, std::vector<LoaderTuning::Ahead> ahead = {}) {
  return tune_loader(job, {.gpus = gpus,
                           .taken = taken,
                           .own_workers = 8,
                           .tried = std::move(tried),
                           .ahead = std::move(ahead),
                           .cpu_time_s = cpu_time_s});
}

LoaderTuning::Tried tried(double workers, double low, double high) {
  return {.workers = workers, .rate = {.value = (low + high) / 2, .low = low, .high = high}};
}

TEST(LoaderTuningTest, TheFewestWhoseLowerBoundSuffices) {
  // Two GPUs take 640/s; 0.9 of it is 576.
  const LoaderTuning t =
      tuned(job(), 2, 640, {tried(8, 900, 1000), tried(4, 580, 600), tried(2, 570, 640), tried(1, 250, 300)});
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
  EXPECT_EQ(tuned(of, 2, 640, {tried(4, 580, 600)}, 0.01).cores, 6) << "576/s of 10 ms each are 5.8 cores";
  of.dataset.cpu_time_per_sample.reset();
  EXPECT_EQ(tuned(of, 2, 640, {tried(4, 580, 600)}, 0.01).cores, 6);
  EXPECT_EQ(tuned(of, 2, 640, {tried(4, 580, 600)}).cores, 0) << "nothing is decoded";
}

TEST(LoaderTuningTest, NoNumberThatSufficesIsToldAndNoSetting) {
  const LoaderTuning t = tuned(job(), 2, 640, {tried(1, 250, 300), tried(2, 400, 420), tried(4, 380, 500)});
  EXPECT_FALSE(t.fewest);
  ASSERT_EQ(t.told.size(), 1u);
  EXPECT_NE(t.told[0].find("no number of workers that was tried, 1 to 4 of each GPU"), std::string::npos) << t.told[0];
  EXPECT_NE(t.told[0].find("2 give"), std::string::npos) << "the best one: " << t.told[0];
}

LoaderTuning::Ahead ahead(double prefetch_factor, double low, double high) {
  return {.prefetch_factor = prefetch_factor, .utilization = {.value = (low + high) / 2, .low = low, .high = high}};
}

TEST(LoaderTuningTest, TheLeastPrefetchWhoseLowerBoundSuffices) {
  requirements::Job of = job();
  const std::vector<LoaderTuning::Tried> enough{tried(4, 580, 600), tried(8, 900, 1000)};
  LoaderTuning t = tuned(of, 2, 640, enough, 0, {ahead(4, 0.97, 0.99), ahead(1, 0.7, 0.8), ahead(2, 0.88, 0.93)});
  ASSERT_TRUE(t.prefetch_factor);
  EXPECT_EQ(*t.prefetch_factor, 8) << "4 workers have as many batches ahead as 8 with 4 each";
  EXPECT_DOUBLE_EQ(t.memory, 2 * 4 * 8 * 32 * 1000.0);
  ASSERT_EQ(t.told.size(), 5u);
  EXPECT_NE(t.told[1].find("the least prefetch_factor, of those that were tried with 8 workers of each GPU: 4"),
            std::string::npos)
      << t.told[1];
  EXPECT_NE(t.told[2].find("num_workers=4, prefetch_factor=8"), std::string::npos) << t.told[2];
  EXPECT_NE(
      t.told[4].find("not rehearsed together: --set job.loader.workers_per_gpu=4 --set job.loader.prefetch_factor=8"),
      std::string::npos)
      << t.told[4];
  t = tuned(of, 2, 640, {tried(8, 900, 1000)}, 0, {ahead(1, 0.95, 0.99), ahead(2, 0.97, 0.99)});
  EXPECT_EQ(t.prefetch_factor, 1);
  EXPECT_EQ(t.told.size(), 4u) << "rehearsed together";
  // Of tf.data they are all workers' together.
  of.loader.kind = requirements::LoaderKind::tfdata;
  t = tuned(of, 2, 640, enough, 0, {ahead(2, 0.95, 0.99)});
  EXPECT_EQ(t.prefetch_factor, 2);
}

TEST(LoaderTuningTest, NoPrefetchThatSufficesIsToldAndNoSetting) {
  const LoaderTuning t =
      tuned(job(), 2, 640, {tried(8, 900, 1000)}, 0, {ahead(1, 0.5, 0.6), ahead(8, 0.8, 0.95), ahead(4, 0.7, 0.9)});
  EXPECT_TRUE(t.fewest);
  EXPECT_FALSE(t.prefetch_factor);
  EXPECT_EQ(t.memory, 0);
  ASSERT_EQ(t.told.size(), 2u);
  EXPECT_NE(t.told[1].find("no prefetch_factor that was tried, 1 to 8, lets the GPUs compute 90.0 % of the time"),
            std::string::npos)
      << t.told[1];
  EXPECT_NE(t.told[1].find("and 8 they compute 87.5 % [80.0 %, 95.0 %]"), std::string::npos) << t.told[1];
}

TEST(LoaderTuningTest, SettingsAreThoseOfTheJobsLoader) {
  requirements::Job of = job();
  of.loader.kind = requirements::LoaderKind::tfdata;
  const LoaderTuning t = tuned(of, 1, 320, {tried(4, 400, 410)});
  ASSERT_EQ(t.told.size(), 2u);
  EXPECT_NE(t.told[1].find("num_parallel_calls=4"), std::string::npos) << t.told[1];
}

}  // namespace
}  // namespace headrace
