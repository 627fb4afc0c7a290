#include "harness/workload/data/pipeline/limiting_stage.h"

#include <gtest/gtest.h>

namespace headrace::pipeline::limiting_stage_test {
namespace {

TEST(LimitingStageTest, BusyGpusLimitRegardlessOfWorkers) {
  EXPECT_EQ(limiting_stage({.stall = 0.01, .host = 0, .reading = 0.9, .decoding = 0.05}), Stage::gpus);
  EXPECT_EQ(limiting_stage({.stall = 0.04, .host = 0, .reading = 0.1, .decoding = 0.9}), Stage::gpus);
}

TEST(LimitingStageTest, ElseTheMainActivityOfWorkers) {
  EXPECT_EQ(limiting_stage({.stall = 0.5, .host = 0, .reading = 0.9, .decoding = 0.1}), Stage::storage);
  EXPECT_EQ(limiting_stage({.stall = 0.5, .host = 0, .reading = 0.1, .decoding = 0.9}), Stage::decoding);
}

TEST(LimitingStageTest, ALateHostIsNoStorage) {
  EXPECT_EQ(limiting_stage({.stall = 0.02, .host = 0.5, .reading = 0.9, .decoding = 0.1}), Stage::host);
}

}  // namespace
}  // namespace headrace::pipeline::limiting_stage_test
