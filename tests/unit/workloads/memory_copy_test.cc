#include <gtest/gtest.h>

#include "tests/unit/workload_runner.h"

namespace headrace::memory_copy_test {
namespace {

using testing::problems_of;
using testing::WorkloadRunner;

class MemoryCopyTest : public ::testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(MemoryCopyTest, MovesEveryByteAndCountsReadsAndWrites) {
  const auto [kernel, non_temporal] = GetParam();
  WorkloadRunner runner("memory_copy", std::string("workers: 3\narray_size: 3MiB\npasses: 4\n") + "kernel: " + kernel +
                                           "\nnon_temporal: " + (non_temporal ? "true" : "false"));
  if (const auto skip = runner.check()) GTEST_SKIP() << skip->reason;
  runner.prepare();
  const unsigned arrays = std::string(kernel) == "copy" || std::string(kernel) == "scale" ? 2 : 3;
  for (int i = 0; i < 2; ++i) {
    const Repetition r = runner.repeat();
    const PhaseResult& all = r.phases.front();
    EXPECT_EQ(all.name, "all");
    EXPECT_EQ(all.operations, 3u * 4);
    EXPECT_EQ(all.bytes, std::uint64_t{arrays} * 4 * (3 << 20));
    EXPECT_DOUBLE_EQ(runner.metrics[std::string(kernel) + "_bandwidth"], all.bytes_per_s());
    EXPECT_EQ(runner.metrics.contains("slowest_node_bandwidth"), r.phases.size() > 1);
    EXPECT_TRUE(runner->verify({}).empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, MemoryCopyTest,
                         ::testing::Combine(::testing::Values("copy", "scale", "add", "triad"), ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "_non_temporal" : "");
                         });

TEST(MemoryCopyTest, VerifyReportsUncopiedBytes) {
  WorkloadRunner runner("memory_copy", "workers: 1\narray_size: 1MiB\n");
  runner.prepare();
  runner.repeat(1, true);  // stopped before its first pass
  const auto wrong = runner->verify({});
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong.front().file, "memory of thread 0");
  EXPECT_EQ(wrong.front().offset, 0u);
}

TEST(MemoryCopyTest, ReportsWhenCachesServeAPart) {
  WorkloadRunner runner("memory_copy", "workers: 1\narray_size: 4KiB\n");
  runner.prepare();
  runner.repeat();
  const auto notes = runner->notes();
  const bool reported = std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("less than four times the last-level caches") != note.npos;
  });
  EXPECT_TRUE(reported || notes.empty());  // none where the kernel reports on no cache
}

TEST(MemoryCopyTest, MoreThanThereIsIsSkipped) {
  WorkloadRunner runner("memory_copy", "array_size: 900TiB\n");
  ASSERT_TRUE(runner.check().has_value());
  EXPECT_NE(runner.check()->reason.find("of memory"), std::string::npos);
  EXPECT_NE(problems_of("memory_copy", "kernel: tirad\n").find("triad"), std::string::npos);
}

}  // namespace
}  // namespace headrace::memory_copy_test
