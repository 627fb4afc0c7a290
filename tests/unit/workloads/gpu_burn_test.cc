// gpu_burn on GPUs that are the host: what is counted, what is found wrong, what is reported about heat.
#include <gtest/gtest.h>

#include "tests/unit/gpu_run.h"
#include "workloads/gpu/matrices.h"
#include "workloads/gpu/power_control.h"

namespace headrace::gpu_burn_test {
namespace {

struct Burn : testing::GpuRun {
  PointResult burn(const std::string& more = "") {
    return run_one("use: gpu_burn, size: 16, number: fp32, time: 50ms, batch: 5, memory: 0.0001, verify: true" + more);
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
    const RunResult r = run(
        {std::string("use: gpu_burn, size: 16, number: fp32, time: 50ms, batch: 5, memory: 0.0001, verify: ") + verify},
        kNeed);
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

/// A product between two right ones.
TEST_F(Burn, OneWrongProductInAHundredIsFound) {
  settings.gpus[0].wrong_after = 40;
  settings.gpus[0].wrong_each = 100;
  const PointResult p = run_one("use: gpu_burn, size: 16, number: fp32, time: 50ms, batch: 60, memory: 0.0001");
  EXPECT_GE(metric(p, "wrong_elements"), 1);
}

TEST_F(Burn, FillsTheMemoryThatItIsGiven) {
  settings.gpus[0].facts.memory = 1 << 20;
  EXPECT_GT(metric(run_one("use: gpu_burn, size: 16, number: fp32, time: 50ms"), "filled_ratio"), 0.9);
  const PointResult p = run_one("use: gpu_burn, size: 16, number: fp32, time: 50ms, memory: 0.25");
  EXPECT_NEAR(metric(p, "filled_ratio"), 0.25, 0.01);
}

TEST_F(Burn, EveryKindOfNumberIsMultipliedAndFoundWrong) {
  for (const char* number : {"fp8", "fp16", "bf16", "tf32", "fp32", "fp64"}) {
    settings.gpus[0].wrong_after = std::numeric_limits<std::uint64_t>::max();
    const std::string entry =
        std::string("use: gpu_burn, size: 16, time: 50ms, batch: 2, memory: 0.0001, verify: true, number: ") + number;
    const PointResult sound = run_one(entry);
    EXPECT_EQ(sound.status, PointStatus::ok) << number << ": " << sound.reason;
    EXPECT_EQ(metric(sound, "wrong_elements"), 0) << number;
    settings.gpus[0].wrong_after = 3;
    EXPECT_GE(metric(run_one(entry), "wrong_elements"), 1) << number;
  }
}

/// The first product of one GPU is wrong in an element that no random choice hits: the others' products show where.
TEST_F(Burn, ACommonErrorOfOneGpusProductsIsShownByTheOthers) {
  settings.gpus.resize(3, testing::HostGpuSettings{});
  settings.gpus[0].wrong_after = 0;
  const RunResult r = run({"use: gpu_burn, size: 64, number: bf16, time: 50ms, batch: 1, memory: 0.001, verify: true"});
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_EQ(r.judgements[0].scope, "gpu0");
  EXPECT_EQ(r.summary.exit_code, 10);
}

TEST_F(Burn, ASlowGpuIsNamedAndTheWorstPointAnswers) {
  settings.gpus.resize(3, testing::HostGpuSettings{});
  settings.gpus[1].product_ns = 4'000'000;
  const RunResult r = run({"use: gpu_burn, size: 16, number: fp32, time: 300ms, batch: 10, memory: 0.0001"},
                          "needs: [{id: pace, metric: gpu_burn.pace, at_least: 0.85}]\n");
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_NE(r.judgements[0].outcome, Outcome::pass) << "three repetitions are too few for a FAIL";
  EXPECT_NE(r.judgements[0].explanation.find("not gpu1 ("), std::string::npos) << r.judgements[0].explanation;
}

TEST_F(Burn, AGpuThatHangsLeavesTheOthersTheirValues) {
  settings.gpus.resize(2, testing::HostGpuSettings{});
  settings.gpus[1].product_hangs_after = 9;
  const RunResult r = run({"use: gpu_burn, size: 16, number: fp32, time: 50ms, batch: 5, memory: 0.0001"});
  EXPECT_EQ(r.points[0].status, PointStatus::ok) << r.points[0].reason;
  EXPECT_TRUE(has(r.points[0], "flop_rate_gpu0") && !has(r.points[0], "flop_rate_gpu1"));
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_EQ(r.judgements[0].scope, "gpu1");
  EXPECT_NE(r.judgements[0].explanation.find("did not end"), std::string::npos) << r.judgements[0].explanation;
  EXPECT_EQ(r.summary.exit_code, 10);
}

TEST_F(Burn, PulsesPauseForAsLongAsTheyWork) {
  const PointResult p = burn(", load: pulse, pulse: 20ms");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_LE(metric(p, "busy_ratio"), 0.9) << "a batch of 5 ms in each 40 ms, but for the first";
  EXPECT_LE(metric(p, "flop_rate"), 2 * 16 * 16 * 16 / 1e-3 * 1.0001);
}

TEST_F(Burn, APowerIsKeptOnlyWhereThereIsALimit) {
  const PointResult without = burn(", load: power");
  EXPECT_EQ(without.status, PointStatus::skipped);
  EXPECT_NE(without.reason.find("no power limit of gpu0"), std::string::npos) << without.reason;
  settings.gpus[0].state.power_limit_w = 700;
  settings.gpus[0].runs_hot = true;
  const PointResult p = burn(", load: power, power: 0.5");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_GT(metric(p, "power_reached_gpu0"), 0);
  EXPECT_LE(metric(p, "power_ratio"), 1);
  EXPECT_FALSE(has(burn(), "power_reached"));
}

/// A GPU whose power follows the share of the time in which it works, from `idle` up.
TEST(PowerControl, GetsToItsTargetAndStaysThere) {
  for (const double target : {0.3, 0.5, 0.8, 0.95}) {
    gpu::PowerControl control(target);
    double ratio = 0;
    for (unsigned look = 1; look <= 40; ++look) {
      const double busy = 1 / (1 + control.pause(1));
      ratio = 0.1 + 0.9 * busy;
      control.seen(look, ratio);
      control.seen(look, 2);  // the same look again
    }
    EXPECT_NEAR(ratio, target, 0.02);
  }
  gpu::PowerControl weak(0.9);
  for (unsigned look = 1; look <= 40; ++look) weak.seen(look, 0.4);
  EXPECT_EQ(weak.pause(1), 0) << "a GPU that does not get there never pauses";
}

TEST_F(Burn, AGpuThatIsLostLeavesTheOthersTheirValues) {
  settings.gpus.resize(3, testing::HostGpuSettings{});
  settings.gpus[2].lost_after = 1;
  const RunResult r =
      run({"use: gpu_burn, size: 16, number: fp32, time: 50ms, batch: 5, memory: 0.0001, verify: true"}, kNeed);
  EXPECT_EQ(r.points[0].status, PointStatus::ok) << r.points[0].reason;
  EXPECT_TRUE(has(r.points[0], "flop_rate_gpu0") && has(r.points[0], "flop_rate_gpu1"));
  EXPECT_FALSE(has(r.points[0], "flop_rate_gpu2"));
  EXPECT_EQ(r.judgements.at(0).scope, "gpu2");
  EXPECT_EQ(r.summary.exit_code, 10);
}

TEST_F(Burn, AProductThatWasWrongFromTheFirstIsFound) {
  settings.gpus[0].corrupts = CopyKind::h2d;  // matrices that are not what was sent
  const PointResult p =
      run_one("use: gpu_burn, size: 16, number: fp16, time: 50ms, batch: 5, memory: 0.0001, verify: true");
  EXPECT_EQ(metric(p, "wrong_elements"), 0);  // they are the same each time
  EXPECT_EQ(p.status, PointStatus::error);
  ASSERT_FALSE(p.wrong_blocks.empty());
  EXPECT_EQ(p.wrong_blocks[0].file, "gpu0 product");
  const RunResult r =
      run({"use: gpu_burn, size: 16, number: fp16, time: 50ms, batch: 5, memory: 0.0001, verify: true"}, kNeed);
  EXPECT_EQ(r.judgements.at(0).outcome, Outcome::fail);
  EXPECT_EQ(r.judgements.at(1).outcome, Outcome::fail);
}

TEST_F(Burn, HeatPowerAndClocksAreSampledInParallel) {
  settings.gpus[0].state.power_w = 650;
  settings.gpus[0].state.temperature_c = 71;
  settings.gpus[0].state.clock_hz = 1.7e9;
  settings.gpus[0].state.held_back = "power limit";
  const PointResult p = run_one("use: gpu_burn, size: 16, number: bf16, time: 50ms, batch: 5, memory: 0.0001");
  EXPECT_EQ(metric(p, "power_w"), 650);
  EXPECT_EQ(metric(p, "temperature_c_gpu0"), 71);
  EXPECT_EQ(metric(p, "clock_hz"), 1.7e9);
  EXPECT_EQ(metric(p, "held_back_ratio"), 1);
  EXPECT_TRUE(noted(p, "gpu0 was held back: power limit"));
}

TEST_F(Burn, IsSkippedWithoutMatrixMultiplication) {
  settings.gpus[0].no_products = "libcublas.so not found";
  const PointResult p = burn();
  EXPECT_EQ(p.status, PointStatus::skipped) << p.reason;
  EXPECT_NE(p.reason.find("libcublas.so not found"), std::string::npos) << p.reason;
}

TEST(Matrices, EveryKindIsReadAsItWasMade) {
  for (const GpuNumber number :
       {GpuNumber::fp8, GpuNumber::fp16, GpuNumber::bf16, GpuNumber::tf32, GpuNumber::fp32, GpuNumber::fp64}) {
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
  EXPECT_EQ(gpu::matrix_value(GpuNumber::fp8, 0x38), 1);
  EXPECT_EQ(gpu::matrix_value(GpuNumber::fp8, 0xb4), -0.75);
  EXPECT_EQ(gpu::matrix_value(GpuNumber::fp64, 0x3fe8000000000000), 0.75);
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
