#include <gtest/gtest.h>

#include <filesystem>

#include "harness/workload/data/data_set.h"
#include "tests/unit/workload_runner.h"

namespace headrace::small_file_read_test {
namespace {

using testing::problems_of;
using testing::WorkloadRunner;

const std::string kFiles = "files: 60\nfile_size: 20000B\nfiles_per_folder: 25\n";

class SmallFileReadTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const auto skip = runner_.check()) GTEST_SKIP() << skip->reason;
    runner_.prepare();
  }
  WorkloadRunner runner_{"small_file_read",
                         kFiles + "workers: 3\nblock_size: 8KiB\nsamples_per_file: 4\nengine: " + GetParam()};
};

TEST_P(SmallFileReadTest, ReadsEveryFileOnce) {
  const Repetition r = runner_.repeat();
  const PhaseResult& phase = r.phases.front();
  EXPECT_EQ(phase.errors, 0u);
  EXPECT_EQ(phase.operations, 60u);
  EXPECT_EQ(phase.bytes, 60u * 20'000);
  EXPECT_EQ(phase.bytes, runner_.as<ReadsFiles>().data()->files().total_bytes());
  const double rate = 60 / phase.elapsed_s;
  EXPECT_DOUBLE_EQ(runner_.metrics["file_rate"], rate);
  EXPECT_DOUBLE_EQ(runner_.metrics["sample_rate"], 4 * rate);
  EXPECT_DOUBLE_EQ(runner_.metrics["open_rate"], rate);
  EXPECT_DOUBLE_EQ(runner_.metrics["metadata_rate"], 2 * rate);
  EXPECT_DOUBLE_EQ(runner_.metrics["read_iops"], 3 * rate);
  EXPECT_DOUBLE_EQ(runner_.metrics["read_bandwidth"], 20'000 * rate);
  EXPECT_TRUE(runner_->verify({}).empty());
}

TEST_P(SmallFileReadTest, CanBeRepeated) {
  for (const std::uint64_t seed : {1, 2, 3}) EXPECT_EQ(runner_.repeat(seed).phases.front().operations, 60u);
}

TEST_P(SmallFileReadTest, CountsUnreadableFilesAsErrorsOnly) {
  const FileTable& files = runner_.as<ReadsFiles>().data()->files();
  std::filesystem::remove(files.full_path(7));
  std::filesystem::resize_file(files.full_path(9), 10'000);
  const Repetition r = runner_.repeat();
  EXPECT_EQ(r.phases.front().operations, 58u);
  EXPECT_EQ(r.phases.front().bytes, 58u * 20'000);
  ASSERT_EQ(runner_.errors.size(), 2u);
  std::sort(runner_.errors.begin(), runner_.errors.end(), [](auto& a, auto& b) { return a.file < b.file; });
  EXPECT_EQ(runner_.errors[0].file, 7u);
  EXPECT_EQ(runner_.errors[0].code, ENOENT);
  EXPECT_EQ(runner_.errors[0].part, 1);
  EXPECT_EQ(runner_.errors[1].file, 9u);
  EXPECT_EQ(runner_.errors[1].code, OperationError::kShortRead);
  EXPECT_EQ(runner_.errors[1].offset, 10'000u);
  EXPECT_DOUBLE_EQ(runner_.metrics["open_rate"] * r.phases.front().elapsed_s, 59);
}

TEST_P(SmallFileReadTest, StopsWhenAsked) {
  EXPECT_EQ(runner_.repeat(1, true).phases.front().operations, 0u);
  EXPECT_EQ(runner_.repeat(1, false).phases.front().operations, 60u);
}

INSTANTIATE_TEST_SUITE_P(Engines, SmallFileReadTest, ::testing::Values("posix", "io_uring"),
                         [](const auto& info) { return std::string(info.param); });

TEST(SmallFileReadPartsTest, PosixTimesEveryPartOfEveryFile) {
  WorkloadRunner runner("small_file_read", kFiles + "workers: 1\n");
  runner.prepare();
  const PhaseResult phase = runner.repeat().phases.front();
  EXPECT_EQ(runner->latency_parts(), (std::vector<std::string>{"open", "read", "close"}));
  for (const Histogram& part : phase.parts) {
    EXPECT_EQ(part.total(), 60u);
    EXPECT_LE(part.max_ns(), phase.latency.max_ns());
  }
}

// When time is over, workers have read of batches that come after those that were delivered: no rate of anything.
TEST(SmallFileReadLoaderTest, CountsCallsOfDeliveredFiles) {
  WorkloadRunner runner("small_file_read",
                        "files: 3000\nfile_size: 20000B\nfiles_per_folder: 1000\nblock_size: 8KiB\n"
                        "workers: 3\nloader: pytorch\nbatch_size: 100\n");
  runner.prepare();
  runner.lasts_ns = 5'000'000;
  EXPECT_GE(runner.repeat().phases.front().operations, 100u);
  const double rate = runner.metrics["file_rate"];
  EXPECT_GT(rate, 0);
  EXPECT_DOUBLE_EQ(runner.metrics["open_rate"], rate);
  EXPECT_DOUBLE_EQ(runner.metrics["metadata_rate"], 2 * rate);
  EXPECT_DOUBLE_EQ(runner.metrics["read_iops"], 3 * rate);
}

TEST(SmallFileReadParamsTest, RejectsInvalidParameters) {
  EXPECT_EQ(problems_of("small_file_read", "queue_depth: 8\n"),
            "test.yaml:1:14: small_file_read: queue_depth: engine posix keeps one request in "
            "flight per worker: use "
            "io_uring, or more workers\n");
  EXPECT_EQ(problems_of("small_file_read", "engine: io_uring\nqueue_depth: 8\n"), "");
}

TEST(SmallFileReadParamsTest, ReportsItsCost) {
  WorkloadRunner runner("small_file_read", kFiles + "workers: 2\nengine: io_uring\nqueue_depth: 4\n");
  EXPECT_EQ(runner->footprint().written_bytes, 60u * 20'000);
  EXPECT_EQ(runner->footprint().memory_bytes, 8u << 20);
}

}  // namespace
}  // namespace headrace::small_file_read_test
