// gpu_burn on GPUs that are the host: what is counted, what is found wrong, what is reported about heat.
#include <gtest/gtest.h>

#include "tests/unit/gpu_run.h"
#include "workloads/gpu/matrices.h"

namespace headrace::gpu_burn_test {
namespace {

struct Burn : testing::GpuRun {
  PointResult burn(const std::string& more = "") {
    return run_one("use: gpu_burn, size: 16, number: fp32, time: 50ms, batch: 5, verify: true" + more);
  }
};

TEST_F(Burn, CountsOperationsByDeviceTime) {
  const PointResult p = burn();
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  // As fast as these GPUs are, less where this machine queues too late.
  EXPECT_LE(metric(p, "flop_rate"), 2 * 16 * 16 * 16 / 1e-3 * 1.0001);
  EXPECT_GT(metric(p, "flop_rate"), 0);
  EXPECT_EQ(metric(p, "flop_rate_gpu0"), metric(p, "flop_rate"));
  EXPECT_EQ(metric(p, "wrong_elements"), 0);
  EXPECT_TRUE(p.verified);
  EXPECT_TRUE(noted(p, "by the test"));
  EXPECT_EQ(gpus->objects(), 0);
}

constexpr const char* kNeed = "needs: [{id: gpu.wrong_elements, metric: gpu_burn.wrong_elements, at_most: 0}]\n";

/// Verified or not, and whatever else ran: the need fails, and the GPU is named.
TEST_F(Burn, AnElementThatIsNotTheSameAgainFailsTheNeed) {
  settings.gpus.resize(2, testing::HostGpuSettings{});
  settings.gpus[1].wrong_after = 7;
  for (const char* verify : {"true", "false"}) {
    const RunResult r =
        run({std::string("use: gpu_burn, size: 16, number: fp32, time: 50ms, batch: 5, verify: ") + verify}, kNeed);
    EXPECT_GE(metric(r.points[0], "wrong_elements"), 1);
    EXPECT_EQ(metric(r.points[0], "wrong_elements_gpu0"), 0);
    EXPECT_EQ(metric(r.points[0], "wrong_elements_gpu1"), metric(r.points[0], "wrong_elements"));
    ASSERT_EQ(r.judgements.size(), 2u);
    for (const Judgement& j : r.judgements) {
      EXPECT_EQ(j.outcome, Outcome::fail) << j.explanation;
      EXPECT_NE(j.explanation.find("gpu1"), std::string::npos) << j.explanation;
    }
    EXPECT_EQ(r.summary.exit_code, 10);
    EXPECT_FALSE(r.points[0].measured_again) << "one occurrence is enough";
  }
}

TEST_F(Burn, AGpuThatIsLostLeavesTheOthersTheirValues) {
  settings.gpus.resize(3, testing::HostGpuSettings{});
  settings.gpus[2].lost_after = 2;
  const RunResult r = run({"use: gpu_burn, size: 16, number: fp32, time: 50ms, batch: 5, verify: true"}, kNeed);
  EXPECT_EQ(r.points[0].status, PointStatus::ok) << r.points[0].reason;
  EXPECT_TRUE(has(r.points[0], "flop_rate_gpu0") && has(r.points[0], "flop_rate_gpu1"));
  EXPECT_FALSE(has(r.points[0], "flop_rate_gpu2"));
  EXPECT_EQ(r.judgements.at(0).scope, "gpu2");
  EXPECT_EQ(r.summary.exit_code, 10);
}

TEST_F(Burn, AProductThatWasWrongFromTheFirstIsFound) {
  settings.gpus[0].corrupts = CopyKind::h2d;  // matrices that are not what was sent
  const PointResult p = run_one("use: gpu_burn, size: 16, number: fp16, time: 50ms, batch: 5, verify: true");
  EXPECT_EQ(metric(p, "wrong_elements"), 0);  // they are the same each time
  EXPECT_EQ(p.status, PointStatus::error);
  ASSERT_FALSE(p.wrong_blocks.empty());
  EXPECT_EQ(p.wrong_blocks[0].file, "gpu0 product");
  const RunResult r = run({"use: gpu_burn, size: 16, number: fp16, time: 50ms, batch: 5, verify: true"}, kNeed);
  EXPECT_EQ(r.judgements.at(0).outcome, Outcome::fail);
  EXPECT_EQ(r.judgements.at(1).outcome, Outcome::fail);
}

TEST_F(Burn, HeatPowerAndClocksAreLookedAtMeanwhile) {
  settings.gpus[0].state.power_w = 650;
  settings.gpus[0].state.temperature_c = 71;
  settings.gpus[0].state.clock_hz = 1.7e9;
  settings.gpus[0].state.held_back = "power limit";
  const PointResult p = run_one("use: gpu_burn, size: 16, number: bf16, time: 50ms, batch: 5");
  EXPECT_EQ(metric(p, "power_w"), 650);
  EXPECT_EQ(metric(p, "temperature_c_gpu0"), 71);
  EXPECT_EQ(metric(p, "clock_hz"), 1.7e9);
  EXPECT_EQ(metric(p, "held_back_ratio"), 1);
  EXPECT_TRUE(noted(p, "gpu0 was held back: power limit"));
}

TEST_F(Burn, WhereMatricesCannotBeMultipliedItIsSkipped) {
  settings.gpus[0].no_products = "libcublas.so not found";
  const PointResult p = burn();
  EXPECT_EQ(p.status, PointStatus::skipped) << p.reason;
  EXPECT_NE(p.reason.find("libcublas.so not found"), std::string::npos) << p.reason;
}

TEST(Matrices, EveryKindIsReadAsItWasMade) {
  for (const GpuNumber number : {GpuNumber::fp16, GpuNumber::bf16, GpuNumber::tf32, GpuNumber::fp32}) {
    double least = 9, most = 0, sum = 0;
    for (std::uint64_t i = 0; i < 10000; ++i) {
      const double value = gpu::matrix_value(number, gpu::matrix_bits(number, 0, i));
      least = std::min(least, std::abs(value));
      most = std::max(most, std::abs(value));
      sum += value;
    }
    EXPECT_GE(least, 0.25);
    EXPECT_LT(most, 1);
    EXPECT_NEAR(sum / 10000, 0, 0.05);  // both signs
  }
  EXPECT_EQ(gpu::matrix_value(GpuNumber::fp16, 0x3c00), 1);
  EXPECT_EQ(gpu::matrix_value(GpuNumber::fp16, 0xb800), -0.5);
  EXPECT_EQ(gpu::matrix_value(GpuNumber::bf16, 0x3f80), 1);
  EXPECT_EQ(gpu::matrix_value(GpuNumber::fp32, 0xbf400000), -0.75);
}

TEST(Matrices, AnElementOfAProduct) {
  const gpu::ProductElement e = gpu::product_element(GpuNumber::fp32, 4, 1, 2);
  double sum = 0;
  const auto value = [](unsigned which, std::uint64_t at) {
    return gpu::matrix_value(GpuNumber::fp32, gpu::matrix_bits(GpuNumber::fp32, which, at));
  };
  for (unsigned k = 0; k < 4; ++k) sum += value(0, 1 + 4 * k) * value(1, k + 8);
  EXPECT_EQ(e.value, sum);
  EXPECT_GT(e.tolerance, 0);
  EXPECT_LT(e.tolerance, 1e-5);
}

}  // namespace
}  // namespace headrace::gpu_burn_test
