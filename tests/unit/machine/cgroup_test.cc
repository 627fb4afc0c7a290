#include "harness/machine/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace headrace::system::cgroup_test {
namespace {

namespace fs = std::filesystem;

/// A made-up /proc and /sys below a folder of its own.
class Cgroup : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("headrace_cgroup_test_" + std::to_string(getpid()));
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void lay(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  CgroupLimits limits() { return cgroup_limits(root_.string()); }

  fs::path root_;
};

TEST_F(Cgroup, NoneAtAll) {
  const CgroupLimits none = limits();
  EXPECT_EQ(none.version, 0);
  EXPECT_FALSE(none.cores || none.memory || none.memory_rest);
}

TEST_F(Cgroup, Version2TakesTheTightestLimitOfItsParents) {
  lay("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  lay("proc/self/cgroup", "0::/slice/job\n");
  lay("sys/fs/cgroup/slice/cpu.max", "150000 100000\n");
  lay("sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  lay("sys/fs/cgroup/slice/job/memory.max", "1000000\n");
  lay("sys/fs/cgroup/slice/job/memory.current", "700000\n");
  lay("sys/fs/cgroup/slice/job/memory.stat", "anon 200000\ninactive_file 300000\nactive_file 200000\n");
  lay("sys/fs/cgroup/slice/memory.max", "max\n");
  lay("sys/fs/cgroup/slice/job/io.max", "254:0 rbps=104857600 wbps=max riops=max wiops=max\n");
  const CgroupLimits found = limits();
  EXPECT_EQ(found.version, 2);
  EXPECT_EQ(found.path, "/slice/job");
  EXPECT_DOUBLE_EQ(found.cores.value(), 1.5);
  EXPECT_EQ(found.memory, 1000000u);
  EXPECT_EQ(found.memory_rest, 800000u);
  ASSERT_EQ(found.io.size(), 1u);
  EXPECT_EQ(found.io[0], "254:0 rbps=104857600 wbps=max riops=max wiops=max");
}

TEST_F(Cgroup, TheRateOfADeviceIsTheTightestLimit) {
  CgroupLimits limits;
  limits.io = {"254:0 rbps=104857600 wbps=max riops=500 wiops=max", "254:0 rbps=50000000 wbps=max riops=max wiops=max",
               "8:0 read_bps=1000", "8:0 write_iops=70", "7:0 wbps=9"};
  const IoLimits version_2 = io_limits(limits, "254:0"), version_1 = io_limits(limits, "8:0");
  EXPECT_EQ(version_2.read_bytes, 50e6);
  EXPECT_EQ(version_2.reads, 500);
  EXPECT_TRUE(std::isinf(version_2.written_bytes) && std::isinf(version_2.writes));
  EXPECT_EQ(version_1.read_bytes, 1000);
  EXPECT_EQ(version_1.writes, 70);
  EXPECT_TRUE(std::isinf(io_limits(limits, "254:1").read_bytes));
}

TEST_F(Cgroup, Version1) {
  lay("proc/self/mountinfo",
      "31 20 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "32 20 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "33 20 0:29 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n");
  lay("proc/self/cgroup", "4:memory:/job\n3:cpu,cpuacct:/job\n2:blkio:/\n0::/\n");
  lay("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  lay("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  lay("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  lay("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "536870912\n");
  lay("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "36870912\n");
  lay("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  lay("sys/fs/cgroup/blkio/blkio.throttle.read_bps_device", "254:0 100000000\n");
  const CgroupLimits found = limits();
  EXPECT_EQ(found.version, 1);
  EXPECT_DOUBLE_EQ(found.cores.value(), 0.5);
  EXPECT_EQ(found.memory, 536870912u);
  EXPECT_EQ(found.memory_rest, 500000000u);
  EXPECT_EQ(found.io, std::vector<std::string>{"254:0 read_bps=100000000"});
}

TEST_F(Cgroup, ProcessesOfBothVersions) {
  lay("proc/self/mountinfo",
      "30 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
      "31 20 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n");
  lay("proc/self/cgroup", "4:pids:/job\n0::/slice\n");
  EXPECT_FALSE(limits().tasks);
  lay("sys/fs/cgroup/unified/slice/pids.max", "100\n");
  lay("sys/fs/cgroup/unified/slice/pids.current", "10\n");
  EXPECT_EQ(limits().tasks, 100u);
  EXPECT_EQ(limits().tasks_rest, 90u);
  lay("sys/fs/cgroup/pids/job/pids.max", "64\n");
  lay("sys/fs/cgroup/pids/job/pids.current", "70\n");
  EXPECT_EQ(limits().tasks, 64u);
  EXPECT_EQ(limits().tasks_rest, 0u);
}

TEST_F(Cgroup, ContainerWithItsMountAtItsOwnGroup) {
  lay("proc/self/mountinfo", "30 20 0:26 /pod/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  lay("proc/self/cgroup", "0::/pod/abc\n");
  lay("sys/fs/cgroup/memory.max", "4096\n");
  EXPECT_EQ(limits().memory, 4096u);
}

TEST_F(Cgroup, OfThisProcess) { EXPECT_NO_THROW(cgroup_limits()); }

TEST_F(Cgroup, WithheldTimeOfVersion2CountsEveryLevel) {
  EXPECT_FALSE(throttled_seconds(root_.string()));
  lay("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  lay("proc/self/cgroup", "0::/slice/job\n");
  lay("sys/fs/cgroup/slice/cpu.stat", "usage_usec 10\nnr_throttled 3\nthrottled_usec 250000\n");
  lay("sys/fs/cgroup/slice/job/cpu.stat", "usage_usec 10\nthrottled_usec 500000\n");
  EXPECT_DOUBLE_EQ(throttled_seconds(root_.string()).value(), 0.75);
}

TEST_F(Cgroup, WithheldTimeOfVersion1) {
  lay("proc/self/mountinfo",
      "31 20 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "30 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  lay("proc/self/cgroup", "2:cpu:/job\n0::/\n");
  lay("sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000\n");
  EXPECT_DOUBLE_EQ(throttled_seconds(root_.string()).value(), 1.5);
}

}  // namespace
}  // namespace headrace::system::cgroup_test
