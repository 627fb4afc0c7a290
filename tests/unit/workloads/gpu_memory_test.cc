// gpu_memory on GPUs that are the host: what is tested, what is found, which GPU is named.
#include <gtest/gtest.h>

#include "harness/backends/gpu_pattern.h"
#include "tests/unit/gpu_run.h"

namespace headrace::gpu_memory_test {
namespace {

constexpr const char* kEntry = "use: gpu_memory, time: 1ms";

struct MemoryTest : testing::GpuRun {
  MemoryTest() {
    settings.gpus.resize(3, testing::HostGpuSettings{});
    for (testing::HostGpuSettings& gpu : settings.gpus) gpu.facts.memory = 16 << 20;
  }
};

TEST_F(MemoryTest, NineTenthsOfEachGpuAreTested) {
  const PointResult p = run_one(kEntry);
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  for (const char* gpu : {"", "_gpu0", "_gpu1", "_gpu2"}) {
    EXPECT_GE(metric(p, std::string("tested_ratio") + gpu), 0.9);
    EXPECT_EQ(metric(p, std::string("wrong_elements") + gpu), 0);
  }
  EXPECT_LE(metric(p, "memory_rate"), settings.gpus[0].memory * 1.0001);
  EXPECT_EQ(gpus->objects(), 0);
}

TEST_F(MemoryTest, OneBitOfOneWordIsFoundAndItsGpuNamed) {
  settings.gpus[1].flips_after = 250;  // pieces that are checked, in whichever repetition
  const RunResult r = run({kEntry});
  EXPECT_EQ(r.points[0].status, PointStatus::ok);
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_EQ(r.judgements[0].scope, "gpu1");
  EXPECT_EQ(r.judgements[0].outcome, Outcome::fail);
  EXPECT_NE(r.judgements[0].explanation.find("1 word of its memory was not as written"), std::string::npos)
      << r.judgements[0].explanation;
  EXPECT_NE(r.judgements[0].explanation.find("(bits 0x8)"), std::string::npos) << r.judgements[0].explanation;
  EXPECT_EQ(r.summary.exit_code, 10);
}

TEST_F(MemoryTest, AGpuThatIsLostLeavesTheOthersTheirValues) {
  settings.gpus[2].lost_after = 400;
  const RunResult r = run({kEntry});
  EXPECT_EQ(r.points[0].status, PointStatus::ok) << r.points[0].reason;
  EXPECT_TRUE(has(r.points[0], "memory_rate_gpu0") && has(r.points[0], "memory_rate_gpu1"));
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_EQ(r.judgements[0].scope, "gpu2");
}

TEST_F(MemoryTest, MemoryOfOthersIsReportedAndIsNoFault) {
  settings.gpus[0].most_allocated = 8 << 20;
  const PointResult p = run_one(kEntry);
  EXPECT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_NEAR(metric(p, "tested_ratio_gpu0"), 0.5, 0.01);
  EXPECT_GE(metric(p, "tested_ratio_gpu1"), 0.9);
  EXPECT_TRUE(noted(p, "gpu0: 50 % of its memory was tested: other programs hold the rest"));
}

TEST(Patterns, ChangeEveryBitAndDifferFromWordToWord) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  for (const auto kind :
       {GpuPattern::Kind::same, GpuPattern::Kind::walking_bit, GpuPattern::Kind::address, GpuPattern::Kind::random})
    for (std::uint64_t i = 0; i < 200; ++i) EXPECT_EQ(pattern_word({kind, 0}, i) ^ pattern_word({kind, kAll}, i), kAll);
  for (std::uint64_t i = 1; i < 200; ++i) {
    EXPECT_NE(pattern_word({GpuPattern::Kind::walking_bit, 0}, i),
              pattern_word({GpuPattern::Kind::walking_bit, 0}, i - 1));
    EXPECT_NE(pattern_word({GpuPattern::Kind::random, 0}, i), pattern_word({GpuPattern::Kind::random, 0}, i - 1));
  }
}

}  // namespace
}  // namespace headrace::gpu_memory_test
