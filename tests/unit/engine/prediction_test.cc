#include "harness/engine/explain/prediction.h"

#include <gtest/gtest.h>

namespace headrace::prediction_test {
namespace {

TEST(PredictionTest, WithoutDecodingItIsSupplyOverDemand) {
  const Prediction p =
      predict_utilization({.storage = {500, 480, 510}, .cpu_time_s = 0, .cores = 2, .workers = 4, .taken = 1000});
  EXPECT_DOUBLE_EQ(p.utilization.value, 0.5);
  EXPECT_DOUBLE_EQ(p.utilization.low, 0.48);
  EXPECT_DOUBLE_EQ(p.utilization.high, 0.51);
  EXPECT_EQ(p.formula, "A18");
}

TEST(PredictionTest, GpusComputeAtMostAllTheTime) {
  const Prediction p =
      predict_utilization({.storage = {1500, 1400, 1600}, .cpu_time_s = 0, .cores = 2, .workers = 4, .taken = 1000});
  EXPECT_DOUBLE_EQ(p.utilization.low, 1);
  EXPECT_DOUBLE_EQ(p.utilization.high, 1);
}

TEST(PredictionTest, BetweenOneAfterTheOtherAndSideBySide) {
  // Four workers read 400/s, 10 ms each; decoding takes 10 ms more.
  const Prediction p =
      predict_utilization({.storage = {400, 400, 400}, .cpu_time_s = 0.010, .cores = 8, .workers = 4, .taken = 1000});
  EXPECT_DOUBLE_EQ(p.rate.low, 200);
  EXPECT_DOUBLE_EQ(p.rate.high, 400);
  EXPECT_DOUBLE_EQ(p.utilization.value, 0.3);
  EXPECT_EQ(p.formula, "A17, A18, B2, B12");
}

TEST(PredictionTest, CoresThatAreMissingLimit) {
  const Prediction p = predict_utilization(
      {.storage = {40'000, 40'000, 40'000}, .cpu_time_s = 0.010, .cores = 2, .workers = 64, .taken = 1000});
  EXPECT_DOUBLE_EQ(p.rate.low, 200);
  EXPECT_DOUBLE_EQ(p.rate.high, 200);
  EXPECT_DOUBLE_EQ(p.utilization.value, 0.2);
}

TEST(PredictionTest, CoresThatAreNotKnownLimitNothing) {
  MeasuredParts parts{.storage = {400, 400, 400}, .cpu_time_s = 0.010, .cores = 0, .workers = 4, .taken = 1000};
  EXPECT_DOUBLE_EQ(predict_utilization(parts).rate.high, 400);
  parts.cpu_time_s = 0;
  parts.taking_s = 0.010;
  EXPECT_DOUBLE_EQ(predict_utilization(parts).rate.low, 400);
  EXPECT_EQ(predict_utilization(parts).formula, "A17, A18, B2, B12");
}

TEST(PredictionTest, TakingBatchesNeedsProcessorsToo) {
  // 4 ms of a worker and 1 ms of the GPU's process for each sample, on one processor; then on enough of them.
  MeasuredParts parts{.storage = {40'000, 40'000, 40'000},
                      .cpu_time_s = 0.004,
                      .cores = 1,
                      .workers = 64,
                      .taking_s = 0.001,
                      .handed = 1000,
                      .taken = 4000};
  EXPECT_DOUBLE_EQ(predict_utilization(parts).rate.high, 200);
  parts.cores = 64;
  EXPECT_DOUBLE_EQ(predict_utilization(parts).rate.high, 1000) << "one process takes no more, whatever is ready";
}

TEST(PredictionTest, TheLoaderFromMemoryRepresentsDecoding) {
  // Others take half of the processors: by cores alone 250/s would be predicted.
  const Prediction p = predict_utilization({.storage = {400, 390, 410},
                                            .memory = Estimate{100, 95, 105},
                                            .cpu_time_s = 0.004,
                                            .cores = 1,
                                            .workers = 4,
                                            .taken = 100});
  EXPECT_DOUBLE_EQ(p.rate.low, 1 / (1 / 390.0 + 1 / 95.0));
  EXPECT_DOUBLE_EQ(p.rate.high, 105);
  EXPECT_DOUBLE_EQ(p.rate.value, (80 + 100) / 2.0);
}

}  // namespace
}  // namespace headrace::prediction_test
