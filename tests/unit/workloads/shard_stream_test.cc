#include <gtest/gtest.h>

#include <filesystem>

#include "harness/base/error.h"
#include "harness/workload/data/data_set.h"
#include "tests/unit/workload_runner.h"

namespace headrace::shard_stream_test {
namespace {

using testing::problems_of;
using testing::WorkloadRunner;

const std::string kShards = "files: 5\nfile_size: 300000B\nblock_size: 64KiB\n";

class ShardStreamTest : public ::testing::TestWithParam<const char*> {
 protected:
  void run_with(const std::string& yaml, const std::function<void(WorkloadRunner&)>& look) {
    WorkloadRunner runner("shard_stream", kShards + yaml + "engine: " + GetParam() + "\n");
    if (const auto skip = runner.check()) GTEST_SKIP() << skip->reason;
    runner.prepare();
    look(runner);
  }
};

TEST_P(ShardStreamTest, ReadsEveryBlockOnce) {
  run_with("workers: 2\nsample_size: 1000B\n", [](WorkloadRunner& runner) {
    for (int i = 0; i < 2; ++i) {
      const PhaseResult phase = runner.repeat().phases.front();
      EXPECT_EQ(phase.errors, 0u);
      EXPECT_EQ(phase.bytes, 1'500'000u);
      EXPECT_EQ(phase.operations, 5u * 5);
      EXPECT_EQ(phase.parts.front().total(), 5u);
      EXPECT_DOUBLE_EQ(runner.metrics["read_bandwidth"], 1'500'000 / phase.elapsed_s);
      EXPECT_DOUBLE_EQ(runner.metrics["sample_rate"], 1'500 / phase.elapsed_s);
      EXPECT_DOUBLE_EQ(runner.metrics["read_iops"], 25 / phase.elapsed_s);
      EXPECT_GT(runner.metrics["first_byte_latency_ns"], 0);
    }
  });
}

TEST_P(ShardStreamTest, GoesThroughTheShardsSeveralTimes) {
  run_with("workers: 3\npasses: 3\n",
           [](WorkloadRunner& runner) { EXPECT_EQ(runner.repeat().phases.front().bytes, 4'500'000u); });
}

TEST_P(ShardStreamTest, MoreWorkersThanShardsIsSaid) {
  run_with("workers: 8\n", [](WorkloadRunner& runner) {
    EXPECT_EQ(runner.repeat().phases.front().bytes, 1'500'000u);
    const auto notes = runner->notes();
    ASSERT_FALSE(notes.empty());
    EXPECT_EQ(notes.back(), "only 5 of 8 workers had a shard to read");
  });
}

TEST_P(ShardStreamTest, ReadsDirectly) {
  try {
    run_with("workers: 2\ndirect: true\n", [](WorkloadRunner& runner) {
      EXPECT_EQ(runner.as<ReadsFiles>().cache_states().front(), CacheState::bypassed);
      EXPECT_EQ(runner.repeat().phases.front().bytes, 1'500'000u);
      EXPECT_TRUE(runner.errors.empty());
    });
  } catch (const RunError& error) {
    GTEST_SKIP() << error.what();  // a file system without direct I/O
  }
}

TEST_P(ShardStreamTest, SaysWhereAShardEndsTooEarly) {
  run_with("workers: 1\n", [](WorkloadRunner& runner) {
    std::filesystem::resize_file(runner.as<ReadsFiles>().data()->files().full_path(3), 100'000);
    const PhaseResult phase = runner.repeat().phases.front();
    EXPECT_EQ(phase.operations, 21u);
    EXPECT_EQ(phase.errors, 4u);
    ASSERT_EQ(runner.errors.size(), 4u);
    for (const OperationError& error : runner.errors) {
      EXPECT_EQ(error.code, OperationError::kShortRead);
      EXPECT_EQ(error.file, 3u);
    }
    const auto first = std::min_element(runner.errors.begin(), runner.errors.end(),
                                        [](auto& a, auto& b) { return a.offset < b.offset; });
    EXPECT_EQ(first->offset, 100'000u);
  });
}

INSTANTIATE_TEST_SUITE_P(Engines, ShardStreamTest, ::testing::Values("posix", "io_uring"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ShardStreamParamsTest, RejectsInvalidParameters) {
  EXPECT_EQ(problems_of("shard_stream", "direct: true\nblock_size: 1000B\n"),
            "test.yaml:2:13: shard_stream: block_size: direct reads are multiples of 4KiB: 4KiB is the nearest\n");
}

}  // namespace
}  // namespace headrace::shard_stream_test
