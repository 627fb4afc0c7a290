#include "harness/machine/device_settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace headrace::system::device_settings_test {
namespace {

namespace fs = std::filesystem;

class Device : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("headrace_device_test_" + std::to_string(getpid()));
    lay("queue/rotational", "0\n");
    lay("queue/scheduler", "[none] mq-deadline\n");
    lay("queue/read_ahead_kb", "128\n");
    lay("queue/nr_requests", "1023\n");
    lay("queue/max_sectors_kb", "1280\n");
    lay("queue/write_cache", "write back\n");
    lay("size", "2097152\n");
    lay("device/model", "FAST DISK        \n");
    lay("device/firmware_rev", "1.2\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void lay(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / "nvme0n1" / path).parent_path());
    std::ofstream(root_ / "nvme0n1" / path) << text;
  }
  fs::path root_;
};

TEST_F(Device, WholeDisk) {
  const DeviceSettings found = device_settings(root_ / "nvme0n1");
  EXPECT_EQ(found.disk, "nvme0n1");
  EXPECT_EQ(found.model, "FAST DISK");
  EXPECT_EQ(found.firmware, "1.2");
  EXPECT_EQ(found.transport, "nvme");
  EXPECT_EQ(found.size, 1u << 30);
  EXPECT_EQ(found.rotational, false);
  EXPECT_EQ(found.scheduler, "none");
  EXPECT_EQ(found.read_ahead, 128u << 10);
  EXPECT_EQ(found.queue_requests, 1023u);
  EXPECT_EQ(found.largest_request, 1280u << 10);
  EXPECT_EQ(found.write_cache, "write back");
  EXPECT_FALSE(found.device_queue);
}

TEST_F(Device, PartitionHasItsOwnSizeAndTheDisksQueue) {
  lay("nvme0n1p1/partition", "1\n");
  lay("nvme0n1p1/size", "2048\n");
  const DeviceSettings found = device_settings(root_ / "nvme0n1" / "nvme0n1p1");
  EXPECT_EQ(found.disk, "nvme0n1");
  EXPECT_EQ(found.size, 1u << 20);
  EXPECT_EQ(found.scheduler, "none");
}

TEST_F(Device, NotThere) { EXPECT_EQ(device_settings(root_ / "sda").disk, ""); }

}  // namespace
}  // namespace headrace::system::device_settings_test
