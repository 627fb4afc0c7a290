#include "harness/machine/limits.h"

#include <gtest/gtest.h>

#include "tests/unit/temporary_folder.h"

namespace headrace::system::limits_test {
namespace {

TEST(Limits, InWords) {
  EXPECT_EQ(limit_in_words({1024, 1024}, false), "1024");
  EXPECT_EQ(limit_in_words({1024, 524288}, false), "1024 (up to 524288)");
  EXPECT_EQ(limit_in_words({8u << 20, Limit::kUnlimited}, true), "8.00 MiB (up to unlimited)");
}

TEST(Limits, OfThisProcess) {
  EXPECT_GT(limit_of(RLIMIT_NOFILE).soft, 0u);
  EXPECT_LE(limit_of(RLIMIT_NOFILE).soft, limit_of(RLIMIT_NOFILE).hard);
}

TEST(Limits, SharedMemoryIsThatOfItsFileSystem) {
  const headrace::testing::TemporaryFolder folder;
  const auto here = shared_memory(folder.path());
  ASSERT_TRUE(here);
  EXPECT_GT(here->size, 0u);
  EXPECT_LE(here->free, here->size);
  EXPECT_FALSE(shared_memory(folder / "none"));
  folder.write("file", "");
  EXPECT_FALSE(shared_memory(folder / "file"));
}

TEST(Limits, TheTightestLimitOfTasksHolds) {
  const headrace::testing::TemporaryFolder root;
  root.write("proc/loadavg", "0.5 0.4 0.3 2/300 1234\n");
  root.write("proc/sys/kernel/threads-max", "1000\n");
  root.write("proc/sys/kernel/pid_max", "32768\n");
  const auto left = [&root] { return tasks_left(root.path()); };
  EXPECT_EQ(left().count, 700u);
  EXPECT_EQ(left().by, "kernel.threads-max");
  root.write("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("proc/self/cgroup", "0::/pod/job\n");
  root.write("sys/fs/cgroup/pod/job/pids.max", "max\n");
  EXPECT_EQ(left().count, 700u);
  root.write("sys/fs/cgroup/pod/pids.max", "24\n");
  root.write("sys/fs/cgroup/pod/pids.current", "20\n");
  EXPECT_EQ(left().count, 4u);
  EXPECT_EQ(left().by, "pids.max of the control group");
}

}  // namespace
}  // namespace headrace::system::limits_test
