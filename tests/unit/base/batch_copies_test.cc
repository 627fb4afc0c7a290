// Copies of batches on the way to GPUs: what a pipeline waits for them, and how it distinguishes that.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "harness/base/clock.h"
#include "harness/workload/data/pipeline.h"

namespace headrace::batch_copies_test {
namespace {

/// Each takes `took_ns`, by the clock and by what it says.
class TimedCopies final : public pipeline::BatchCopies {
 public:
  TimedCopies(unsigned gpus, std::uint64_t took_ns) : took_ns_(took_ns), end_ns_(gpus) {}
  void begin(std::size_t gpu) noexcept override {
    EXPECT_EQ(end_ns_[gpu], 0u) << "one at a time";
    end_ns_[gpu] = now_ns() + took_ns_;
    ++begun;
  }
  std::optional<std::uint64_t> arrived(std::size_t gpu) noexcept override {
    if (now_ns() < end_ns_[gpu]) return std::nullopt;
    end_ns_[gpu] = 0;
    return took_ns_;
  }
  unsigned begun = 0;

 private:
  std::uint64_t took_ns_;
  std::vector<std::uint64_t> end_ns_;
};

constexpr unsigned kGpus = 2, kSteps = 12;
constexpr std::uint64_t kMs = 1'000'000, kCompute = 3 * kMs, kCopy = 2 * kMs;

/// Batches that are all there from the beginning.
pipeline::StepAccount trained(pipeline::BatchCopies* copies) {
  Pipeline pipeline({.gpus = kGpus, .workers = 1, .ahead = kSteps, .compute_ns = kCompute}, nullptr, nullptr, copies);
  for (unsigned i = 0; i < kGpus; ++i) {
    while (pipeline.begin_now(i)) pipeline.ready(i);
    pipeline.end(i);
  }
  Recorder recorder(3);
  const std::atomic<bool> stop{false};
  recorder.start(UINT64_MAX, &stop);
  pipeline.train(recorder, 1);
  EXPECT_TRUE(pipeline.out_of_data());
  return pipeline.account();
}

TEST(BatchCopiesTest, GpusWaitForEachCopyAndThatIsNeitherDataNorHost) {
  TimedCopies copies(kGpus, kCopy);
  const pipeline::StepAccount account = trained(&copies);
  ASSERT_EQ(account.steps(), kSteps);
  EXPECT_EQ(copies.begun, kGpus * kSteps);
  std::uint64_t copied = 0, took = 0;
  for (const auto& one : account.others()) {
    copied += one.copy_ns;
    took += one.time_ns;
    EXPECT_EQ(one.wait_ns, 0u) << "the data was there";
  }
  EXPECT_EQ(copied, (kSteps - 1) * kCopy);
  EXPECT_GE(took, (kSteps - 1) * (kCompute + kCopy));
  const pipeline::Utilization u = pipeline::utilization(account, 0);
  EXPECT_LE(u.rule, 0.6);
  EXPECT_NEAR(u.rule + u.copy + u.host, 1, 1e-9);
}

TEST(BatchCopiesTest, WithoutCopiesNoneIsReported) {
  const pipeline::Utilization u = pipeline::utilization(trained(nullptr), 0);
  EXPECT_EQ(u.copy, 0);
  EXPECT_NEAR(u.rule + u.host, 1, 1e-9);
}

}  // namespace
}  // namespace headrace::batch_copies_test
