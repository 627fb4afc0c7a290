#include <gtest/gtest.h>

#include <filesystem>

#include "harness/base/error.h"
#include "harness/workload/data/data_set.h"
#include "tests/unit/workload_runner.h"

namespace headrace::random_read_test {
namespace {

using testing::problems_of;
using testing::WorkloadRunner;

class RandomReadTest : public ::testing::TestWithParam<const char*> {
 protected:
  void run_with(const std::string& yaml, const std::function<void(WorkloadRunner&)>& look) {
    WorkloadRunner runner("random_read", yaml + "engine: " + GetParam() + "\n");
    if (const auto skip = runner.check()) GTEST_SKIP() << skip->reason;
    runner.prepare();
    look(runner);
  }
};

TEST_P(RandomReadTest, ReadsEveryBlockOnce) {
  run_with("files: 3\nfile_size: 400000B\nworkers: 2\nsample_size: 1KiB\n", [](WorkloadRunner& runner) {
    for (const std::uint64_t seed : {1, 2}) {
      const PhaseResult phase = runner.repeat(seed).phases.front();
      EXPECT_EQ(phase.errors, 0u);
      EXPECT_EQ(phase.operations, 3u * 97);
      EXPECT_DOUBLE_EQ(runner.metrics["read_iops"], 291 / phase.elapsed_s);
      EXPECT_DOUBLE_EQ(runner.metrics["read_bandwidth"], 291 * 4096 / phase.elapsed_s);
      EXPECT_DOUBLE_EQ(runner.metrics["sample_rate"], 4 * 291 / phase.elapsed_s);
    }
  });
}

TEST_P(RandomReadTest, ReadsFilesOfDifferentSizesAtAnyAlignment) {
  run_with("files: 9\nfile_size: 50000B\nfile_size_spread: 15000B\nalignment: 512B\nworkers: 3\n",
           [](WorkloadRunner& runner) {
             std::uint64_t blocks = 0;
             const FileTable& files = runner.as<ReadsFiles>().data()->files();
             for (std::uint32_t i = 0; i < files.count(); ++i) blocks += files.size(i) / 4096;
             const PhaseResult phase = runner.repeat().phases.front();
             EXPECT_EQ(phase.operations, blocks);
             EXPECT_EQ(phase.errors, 0u);
           });
}

TEST_P(RandomReadTest, ReadsAsOftenAsAsked) {
  run_with("files: 2\nfile_size: 1MiB\nreads: 100\n", [](WorkloadRunner& runner) {
    EXPECT_EQ(runner.repeat().phases.front().operations, 100u);
    EXPECT_EQ(runner.repeat(2).phases.front().operations, 100u);
  });
}

TEST_P(RandomReadTest, SaysWhereAFileEndsTooEarly) {
  run_with("files: 1\nfile_size: 64KiB\nworkers: 1\n", [](WorkloadRunner& runner) {
    // At a page: the rest of a page that a file ends in reads as zeros in a mapping, which nothing
    // can notice.
    std::filesystem::resize_file(runner.as<ReadsFiles>().data()->files().full_path(0), 57'344);
    EXPECT_EQ(runner.repeat().phases.front().operations, 14u);
    ASSERT_EQ(runner.errors.size(), 2u);
    for (const OperationError& error : runner.errors) EXPECT_EQ(error.code, OperationError::kShortRead);
    EXPECT_EQ(std::min(runner.errors[0].offset, runner.errors[1].offset), 57'344u);
  });
}

TEST_P(RandomReadTest, LeavesOutFilesSmallerThanABlock) {
  try {
    run_with("files: 3\nfile_size: 1000B\n", [](WorkloadRunner&) { FAIL() << "there was nothing to read"; });
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("is as large as block_size"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, RandomReadTest, ::testing::Values("posix", "io_uring", "mmap"),
                         [](const auto& info) { return std::string(info.param); });

TEST(RandomReadParamsTest, RejectsInvalidParameters) {
  EXPECT_EQ(problems_of("random_read", "direct: true\nalignment: 512B\n"),
            "test.yaml:2:12: random_read: alignment: direct reads are at multiples of 4KiB: 4KiB is the nearest\n");
  EXPECT_EQ(problems_of("random_read", "direct: true\nengine: mmap\n"),
            "test.yaml:1:9: random_read: direct: engine mmap reads through the page cache: use "
            "posix or io_uring\n");
}

}  // namespace
}  // namespace headrace::random_read_test
