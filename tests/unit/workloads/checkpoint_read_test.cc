#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/workload/data/data_set.h"
#include "tests/unit/workload_runner.h"

namespace headrace::checkpoint_read_test {
namespace {

namespace fs = std::filesystem;
using testing::problems_of;
using testing::TemporaryFolder;
using testing::WorkloadRunner;

class CheckpointReadTest : public ::testing::TestWithParam<const char*> {
 protected:
  void run_with(const std::string& yaml, const std::function<void(WorkloadRunner&)>& look) {
    WorkloadRunner runner("checkpoint_read", "ranks: 3\nblock_size: 64KiB\n" + yaml + "engine: " + GetParam() + "\n");
    if (const auto skip = runner.check()) GTEST_SKIP() << skip->reason;
    runner.prepare();
    look(runner);
  }
  static void expect_a_restore(WorkloadRunner& runner, std::uint64_t bytes, unsigned blocks,
                               const char* bandwidth = "read_bandwidth") {
    const Repetition r = runner.repeat();
    const PhaseResult& phase = r.phases.front();
    EXPECT_EQ(phase.errors, 0u);
    EXPECT_EQ(phase.bytes, bytes);
    EXPECT_EQ(phase.operations, blocks);
    EXPECT_DOUBLE_EQ(runner.metrics["time_to_restored_s"], phase.elapsed_s);
    EXPECT_DOUBLE_EQ(runner.metrics[bandwidth], static_cast<double>(bytes) / phase.elapsed_s);
    EXPECT_TRUE(runner->verify({}).empty());
  }
};

constexpr const char* kShards = "shard_size: 1000000B\n";

TEST_P(CheckpointReadTest, EachRankReadsItsOwnShard) {
  run_with(kShards, [](WorkloadRunner& runner) {
    EXPECT_EQ(runner.as<ReadsFiles>().data()->files().count(), 3u);
    EXPECT_EQ(runner.as<ReadsFiles>().cache_use().readers, 1u);
    for (int i = 0; i < 2; ++i) expect_a_restore(runner, 3'000'000, 3 * 16);
  });
}

TEST_P(CheckpointReadTest, AllRanksReadTheSameWeights) {
  run_with(kShards + std::string("layout: same\n"), [](WorkloadRunner& runner) {
    EXPECT_EQ(runner.as<ReadsFiles>().data()->files().count(), 1u);
    EXPECT_EQ(runner.as<ReadsFiles>().cache_use().readers, 3u);
    expect_a_restore(runner, 3'000'000, 3 * 16, "shared_read_bandwidth");
    // What the page cache served says nothing of what storage gives.
    EXPECT_FALSE(runner.metrics.contains("read_bandwidth"));
  });
}

TEST_P(CheckpointReadTest, AroundThePageCache) {
  if (GetParam() == std::string("mmap")) GTEST_SKIP() << "maps go through the page cache";
  run_with(kShards + std::string("direct: true\n"), [](WorkloadRunner& runner) {
    EXPECT_EQ(runner.as<ReadsFiles>().cache_states().front(), CacheState::bypassed);
    expect_a_restore(runner, 3'000'000, 3 * 16);
  });
}

TEST_P(CheckpointReadTest, VerifyNamesWrongBlocksAsTheEngineDeliversThem) {
  run_with(kShards, [](WorkloadRunner& runner) {
    const FileTable& files = runner.as<ReadsFiles>().data()->files();
    {
      std::fstream file(files.full_path(1), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(8192 + 100);
      file << "torn";
    }
    fs::resize_file(files.full_path(2), 300'000);
    const auto wrong = runner->verify({});
    ASSERT_GE(wrong.size(), 2u);
    EXPECT_EQ(wrong[0].file, files.full_path(1));
    EXPECT_EQ(wrong[0].offset, 8192u);
    EXPECT_NE(wrong[0].why.find("torn"), std::string::npos) << wrong[0].why;
    EXPECT_EQ(wrong[1].file, files.full_path(2));
    EXPECT_EQ(wrong[1].offset, 300'000u);
    EXPECT_EQ(wrong[1].why, "the file ends here");
  });
}

TEST_P(CheckpointReadTest, ARankThatFailsIsAnErrorAndNotARestore) {
  run_with(kShards, [](WorkloadRunner& runner) {
    fs::resize_file(runner.as<ReadsFiles>().data()->files().full_path(1), 500'000);
    const Repetition r = runner.repeat();
    EXPECT_GT(r.phases.front().errors, 0u);
    EXPECT_EQ(runner.errors.front().code, OperationError::kShortRead);
    EXPECT_EQ(runner.errors.front().file, 1u);
    EXPECT_FALSE(runner.metrics.contains("time_to_restored_s"));
  });
}

TEST_P(CheckpointReadTest, ARestoreThatWasStoppedGivesNoTime) {
  run_with(kShards, [](WorkloadRunner& runner) {
    runner.repeat(1, true);
    EXPECT_FALSE(runner.metrics.contains("time_to_restored_s"));
    const auto notes = runner->notes();
    EXPECT_NE(
        std::find(notes.begin(), notes.end(), "the time budget ended before all was restored: no time to restored"),
        notes.end());
  });
}

TEST_P(CheckpointReadTest, UsersCheckpointGoesToTheRanksInTurn) {
  TemporaryFolder users;
  for (int i = 0; i < 4; ++i) users.write("shard" + std::to_string(i), std::string(70'000, 'x'));
  run_with("path: " + users.path() + "\n", [](WorkloadRunner& runner) {
    const Repetition r = runner.repeat();
    EXPECT_EQ(r.phases.front().bytes, 280'000u);
    EXPECT_EQ(r.phases.front().operations, 8u);
    EXPECT_TRUE(runner.metrics.contains("time_to_restored_s"));
    EXPECT_TRUE(runner->verify({}).empty());  // nothing is known of it
  });
  run_with("path: " + (users / "shard0") + "\n", [](WorkloadRunner& runner) {
    runner.repeat();
    const auto notes = runner->notes();
    EXPECT_NE(std::find(notes.begin(), notes.end(), "only 1 of 3 ranks had a file to read"), notes.end());
  });
}

INSTANTIATE_TEST_SUITE_P(Engines, CheckpointReadTest, ::testing::Values("posix", "io_uring", "mmap"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CheckpointReadParamsTest, RejectsInvalidParameters) {
  EXPECT_EQ(problems_of("checkpoint_read", "queue_depth: 4\n"),
            "test.yaml:1:14: checkpoint_read: queue_depth: engine posix keeps one request in "
            "flight per worker: use io_uring, or more ranks\n");
  EXPECT_EQ(problems_of("checkpoint_read", "path: /tmp\nshard_size: 1MiB\n"),
            "test.yaml:2:13: checkpoint_read: shard_size: makes shards; not together with path, "
            "which reads existing ones\n");
  EXPECT_NE(problems_of("checkpoint_read", "workers: 4\n").find("ranks"), std::string::npos);
}

}  // namespace
}  // namespace headrace::checkpoint_read_test
