#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/workload/data/checkpoint/folder.h"
#include "tests/unit/workload_runner.h"

namespace headrace::checkpoint_write_test {
namespace {

namespace fs = std::filesystem;
using testing::problems_of;
using testing::WorkloadRunner;

class CheckpointWriteTest : public ::testing::TestWithParam<const char*> {
 protected:
  void run_with(const std::string& yaml, const std::function<void(WorkloadRunner&)>& look) {
    WorkloadRunner runner("checkpoint_write", "ranks: 3\nshard_size: 1000000B\nblock_size: 64KiB\n" + yaml +
                                                  "engine: " + GetParam() + "\n");
    if (const auto skip = runner.check()) GTEST_SKIP() << skip->reason;
    runner.prepare();
    look(runner);
  }
  static std::string folder(WorkloadRunner& runner) { return runner.node().scratch() + "/checkpoint"; }
  static std::vector<std::string> files(WorkloadRunner& runner) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder(runner))) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  static void expect_a_save(WorkloadRunner& runner) {
    const PhaseResult phase = runner.repeat().phases.front();
    EXPECT_EQ(phase.bytes, 3'000'000u);
    EXPECT_EQ(phase.operations, 3u * 16);
    EXPECT_EQ(phase.errors, 0u);
    for (const Histogram& part : phase.parts) EXPECT_EQ(part.total(), 3u);
    EXPECT_GT(runner.metrics["write_bandwidth"], runner.metrics["durable_bandwidth"]);
    EXPECT_NEAR(runner.metrics["durable_bandwidth"] * runner.metrics["time_to_durable_s"], 3e6, 1);
    EXPECT_TRUE(runner->verify({}).empty());
  }
};

TEST_P(CheckpointWriteTest, SavesTheDataOfRanks) {
  run_with("", [](WorkloadRunner& runner) {
    for (int i = 0; i < 3; ++i) expect_a_save(runner);
    EXPECT_EQ(files(runner),
              (std::vector<std::string>{".headrace", "rank-00000.bin", "rank-00001.bin", "rank-00002.bin"}));
    EXPECT_EQ(fs::file_size(folder(runner) + "/rank-00001.bin"), 1'000'000u);
    EXPECT_EQ(runner.metrics["stall_s"], runner.metrics["time_to_durable_s"]);
    EXPECT_FALSE(runner.metrics.contains("stage_bandwidth"));
  });
}

TEST_P(CheckpointWriteTest, SavesToOneSharedFile) {
  run_with("layout: shared\npreallocate: true\n", [](WorkloadRunner& runner) {
    for (int i = 0; i < 2; ++i) expect_a_save(runner);
    EXPECT_EQ(files(runner), (std::vector<std::string>{".headrace", "rank-00000.bin"}));
    EXPECT_EQ(fs::file_size(folder(runner) + "/rank-00000.bin"), 3'000'000u);
  });
}

TEST_P(CheckpointWriteTest, TrainingWaitsForTheCopyOnly) {
  run_with("mode: async\ndurability: fdatasync\n", [](WorkloadRunner& runner) {
    expect_a_save(runner);
    EXPECT_LT(runner.metrics["stall_s"], runner.metrics["time_to_durable_s"]);
    EXPECT_NEAR(runner.metrics["stage_bandwidth"] * runner.metrics["stall_s"], 3e6, 1);
  });
}

TEST_P(CheckpointWriteTest, SavesAroundThePageCache) {
  run_with("direct: true\npreallocate: true\n", [](WorkloadRunner& runner) {
    try {
      expect_a_save(runner);
    } catch (const RunError& error) {
      GTEST_SKIP() << error.what();  // a file system without direct I/O
    }
    EXPECT_EQ(fs::file_size(folder(runner) + "/rank-00002.bin"), 1'000'000u);
  });
}

TEST_P(CheckpointWriteTest, FindsStaleAndSwappedBlocks) {
  run_with("", [](WorkloadRunner& runner) {
    runner.repeat(1);
    const std::string one = folder(runner) + "/rank-00001.bin", kept = folder(runner) + "/../kept";
    fs::copy_file(one, kept);
    runner.repeat(2);
    fs::rename(kept, one);
    auto wrong = runner->verify({});
    ASSERT_FALSE(wrong.empty());
    EXPECT_EQ(wrong.front().file, one);
    EXPECT_EQ(wrong.front().offset, 0u);
    EXPECT_EQ(wrong.front().why, "stale: a block of another save");
    fs::copy_file(folder(runner) + "/rank-00002.bin", one, fs::copy_options::overwrite_existing);
    wrong = runner->verify({});
    ASSERT_FALSE(wrong.empty());
    EXPECT_EQ(wrong.front().why, "holds block 0 of rank 2");
    fs::resize_file(one, 8192);
    EXPECT_EQ(runner->verify({}).front().file, one);
  });
}

TEST_P(CheckpointWriteTest, ASaveThatWasStoppedLeavesTheOldOne) {
  run_with("", [](WorkloadRunner& runner) {
    runner.repeat(1);
    const auto before = files(runner);
    runner.repeat(2, true);
    EXPECT_TRUE(runner.metrics.empty());
    EXPECT_EQ(files(runner), before);
  });
}

TEST_P(CheckpointWriteTest, LeavesNothingBehind) {
  std::string where;
  run_with("", [&](WorkloadRunner& runner) {
    runner.repeat();
    where = folder(runner);
    runner->cleanup(runner.node());
    EXPECT_FALSE(fs::exists(where));
    runner.prepare();
    expect_a_save(runner);
  });
}

INSTANTIATE_TEST_SUITE_P(Engines, CheckpointWriteTest, ::testing::Values("posix", "io_uring"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CheckpointFolderTest, IsHeldByOneAndCleanedAfterACrash) {
  testing::TemporaryFolder tmp;
  const MarkedFolder marked = MarkedFolder::make(tmp / "scratch", "scratch");
  const files::Folder& scratch = marked.folder();
  {
    const checkpoint::Folder held(scratch);
    EXPECT_THROW(checkpoint::Folder{scratch}, RunError);
    EXPECT_EQ(checkpoint::remove_left_over(scratch).left.size(), 1u);
    held.create(3, 0);
    // As a killed run leaves it: the lock is gone, the files are not.
    fs::copy(held.path(), tmp / "left", fs::copy_options::recursive);
  }
  EXPECT_FALSE(fs::exists(scratch.path() + "/checkpoint"));
  fs::rename(tmp / "left", scratch.path() + "/checkpoint");
  std::ofstream(scratch.path() + "/checkpoint/notes.txt") << "mine";
  const CleanReport report = checkpoint::remove_left_over(scratch);
  EXPECT_EQ(report.files, 1u);
  EXPECT_TRUE(fs::exists(scratch.path() + "/checkpoint/notes.txt"));
  EXPECT_FALSE(report.left.empty());
}

TEST(CheckpointFolderTest, TheOldFileLivesUntilItIsLetGoOf) {
  testing::TemporaryFolder tmp;
  const MarkedFolder marked = MarkedFolder::make(tmp / "scratch", "scratch");
  const files::Folder& scratch = marked.folder();
  const checkpoint::Folder folder(scratch);
  ASSERT_EQ(::write(folder.create(0, 0).get(), "first", 5), 5);
  EXPECT_FALSE(folder.publish(0)) << "nothing was there before";
  folder.create(0, 0);
  const system::UniqueFd old = folder.publish(0);
  struct stat status {};
  ASSERT_EQ(::fstat(old.get(), &status), 0);
  EXPECT_EQ(status.st_nlink, 0u);
  EXPECT_EQ(status.st_size, 5);
  EXPECT_EQ(fs::file_size(folder.full_path(0)), 0u);
}

TEST(CheckpointWriteParamsTest, RejectsInvalidParameters) {
  EXPECT_EQ(problems_of("checkpoint_write", "queue_depth: 4\n"),
            "test.yaml:1:14: checkpoint_write: queue_depth: engine posix keeps one write in flight "
            "per rank: use io_uring\n");
  EXPECT_EQ(problems_of("checkpoint_write", "direct: true\nblock_size: 5000B\n"),
            "test.yaml:2:13: checkpoint_write: block_size: direct writes are multiples of 4KiB: 4KiB is the nearest\n");
  WorkloadRunner runner("checkpoint_write", "shard_size: 5PB\n");
  EXPECT_TRUE(runner.check().has_value());
}

}  // namespace
}  // namespace headrace::checkpoint_write_test
