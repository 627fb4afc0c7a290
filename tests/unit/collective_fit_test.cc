#include "harness/collective_fit.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(CollectiveFit, FindsWhatTheTimesWereMadeOf) {
  std::vector<std::pair<double, double>> times;
  for (const double size : {8.0, 1024.0, 1e6, 25e6, 64e6})
    times.emplace_back(size, 20e-6 + size / 5e9);
  const auto fit = fit_collective(times);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->fixed_s, 20e-6, 1e-9);
  EXPECT_NEAR(fit->bytes_per_s, 5e9, 1e4);
}

/// F3's worked example: 14 GB, 64 ranks, 5 us a hop, 50 GB/s: 551.9 ms.
TEST(CollectiveFit, RingModelIsFormulaF3) {
  const unsigned n = 64;
  const auto time = [](double size) { return 2 * 63 * 5e-6 + 2 * 63 / 64.0 * size / 50e9; };
  EXPECT_NEAR(time(14e9), 0.5519, 5e-5);
  const RingModel model =
      ring_model(*fit_collective({{1e3, time(1e3)}, {1e6, time(1e6)}, {14e9, time(14e9)}}), n);
  EXPECT_NEAR(model.alpha_s, 5e-6, 1e-10);
  EXPECT_NEAR(model.link_bytes_per_s, 50e9, 1e5);
}

TEST(CollectiveFit, RefusesWhatCannotBeFitted) {
  EXPECT_FALSE(fit_collective({{8, 1e-6}, {1e6, 1e-3}}));
  EXPECT_FALSE(fit_collective({{8, 1e-3}, {1e3, 1e-4}, {1e6, 1e-5}}));
  EXPECT_FALSE(fit_collective({{8, 0}, {1e3, 1e-4}, {1e6, 1e-3}}));
}

TEST(CollectiveFit, NeverFindsNegativeLatency) {
  const auto fit = fit_collective({{1e3, 1e-7}, {1e6, 2e-4}, {1e8, 3e-2}});
  ASSERT_TRUE(fit);
  EXPECT_GE(fit->fixed_s, 0);
}

requirements::Job job() {
  requirements::Job j;
  j.cluster.nodes = 8;
  j.cluster.gpus_per_node = 8;
  j.step.time = 1;
  j.model.parameters = 7e9;
  j.model.gradient_bytes = 2;
  j.parallelism.window = 2.0 / 3;
  j.parallelism.overlap = 0.9;
  return j;
}

TEST(CollectiveFit, StepOfAJobInBuckets) {
  const auto step = gradient_step({5e-6, 50e9}, job(), 25.0 * 1024 * 1024);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->ranks, 64);
  EXPECT_EQ(step->buckets, 535);  // 14 GB / 25 MiB
  EXPECT_NEAR(step->time_s, 0.55125 + 535 * 2 * 63 * 5e-6, 1e-5);
  EXPECT_NEAR(step->exposed_s, step->time_s - 0.6, 1e-9);
}

TEST(CollectiveFit, HiddenCommunicationExposesNothing) {
  EXPECT_EQ(gradient_step({1e-6, 200e9}, job(), 25e6)->exposed_s, 0);
}

TEST(CollectiveFit, OneReplicaHasNoGradientsToSend) {
  requirements::Job alone = job();
  alone.cluster.nodes = alone.cluster.gpus_per_node = 1;
  EXPECT_FALSE(gradient_step({1e-6, 50e9}, alone, 25e6));
}

}  // namespace
}  // namespace headrace
