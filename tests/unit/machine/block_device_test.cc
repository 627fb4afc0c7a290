#include "harness/machine/block_device.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/temporary_folder.h"

namespace headrace::system::block_device_test {
namespace {

TEST(BlockDevice, NoneUnderMemoryFileSystems) {
  EXPECT_FALSE(device_of("/proc/self"));
  EXPECT_FALSE(device_of("/sys/kernel"));
}

TEST(BlockDevice, SameForAFileAndForOneThatIsNotThereYet) {
  const headrace::testing::TemporaryFolder tmp;
  const auto device = device_of(tmp.path());
  const auto later = device_of(tmp / "not/yet");
  ASSERT_EQ(device.has_value(), later.has_value());
  if (!device) GTEST_SKIP() << "no block device under the temporary folder";
  EXPECT_EQ(device->name, later->name);
  EXPECT_TRUE(std::filesystem::exists(device->sys_path + "/stat"));
}

TEST(BlockDevice, CountsWrites) {
  const headrace::testing::TemporaryFolder tmp;
  const auto device = device_of(tmp.path());
  if (!device) GTEST_SKIP() << "no block device under the temporary folder";
  const DeviceCounters before = read_counters(*device);
  std::uint64_t read_before = 0, written_before = 0, read_after = 0, written_after = 0;
  const bool reported = read_self_io(read_before, written_before);
  tmp.write("file", std::string(1 << 20, 'x'));
  const int fd = ::open((tmp / "file").c_str(), O_RDONLY);
  ASSERT_EQ(::fsync(fd), 0);
  ::close(fd);
  EXPECT_GE(read_counters(*device).written_bytes - before.written_bytes, 1u << 20);
  if (reported && read_self_io(read_after, written_after)) {
    EXPECT_GE(written_after - written_before, 1u << 20);
  }
}

TEST(BlockDevice, ZerosWhenThereIsNoCounter) {
  EXPECT_EQ(read_counters({"none", "/sys/dev/block/none"}).read_bytes, 0u);
}

}  // namespace
}  // namespace headrace::system::block_device_test
