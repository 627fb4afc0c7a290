// What waits for a FUSE daemon, from files laid as the kernel's control file system shows them.
#include "harness/machine/client_counters.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace headrace::system::fuse_queue_test {
namespace {

struct FuseQueueOf : ::testing::Test {
  testing::TemporaryFolder folder;
  void put(const std::string& connection, const std::string& text) {
    std::filesystem::create_directories(folder.path() + "/" + connection);
    std::ofstream(folder.path() + "/" + connection + "/waiting") << text;
  }
  std::optional<unsigned> waiting(const std::string& type, const std::string& device) {
    Mount mount;
    mount.type = type;
    mount.device = device;
    return FuseQueue(mount, folder.path()).waiting();
  }
};

TEST_F(FuseQueueOf, IsCalledByTheDevicesNumber) {
  put("45", "3\n");
  put("266338305", "7\n");  // a block device's: 254:1
  EXPECT_EQ(waiting("fuse.sshfs", "0:45"), 3u);
  EXPECT_EQ(waiting("fuse", "0:45"), 3u);
  EXPECT_EQ(waiting("fuseblk", "254:1"), 7u);
}

TEST_F(FuseQueueOf, IsNotReportedOfOthersOrWhereItIsNotThere) {
  put("45", "3\n");
  put("46", "words\n");
  EXPECT_FALSE(waiting("ext4", "0:45"));
  EXPECT_FALSE(waiting("fuse", "0:44"));
  EXPECT_FALSE(waiting("fuse", "0:46"));
  EXPECT_FALSE(waiting("fuse", ""));
  EXPECT_FALSE(waiting("fuse", "0:"));
}

}  // namespace
}  // namespace headrace::system::fuse_queue_test
