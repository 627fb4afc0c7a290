#include "harness/machine/mount.h"

#include <gtest/gtest.h>

namespace headrace::system::mount_test {
namespace {

TEST(Mountinfo, ReadsEveryField) {
  const auto all = parse_mountinfo(
      "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
      "36 27 0:40 /export /with\\040blank ro,noatime master:1 shared:2 - nfs4 server:/export "
      "rw,vers=4.2,noatime\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].point, "/");
  EXPECT_EQ(all[0].device, "254:0");
  EXPECT_EQ(all[0].options, "rw,relatime,discard");
  EXPECT_EQ(all[1].point, "/with blank");
  EXPECT_EQ(all[1].root, "/export");
  EXPECT_EQ(all[1].type, "nfs4");
  EXPECT_EQ(all[1].source, "server:/export");
  EXPECT_EQ(all[1].options, "ro,noatime,rw,vers=4.2");
  EXPECT_EQ(all[1].super_options, "rw,vers=4.2,noatime");
}

TEST(Mountinfo, LeavesOutUnknownLines) { EXPECT_TRUE(parse_mountinfo("27 1 254:0 / /\nno - line\n\n").empty()); }

TEST(MountOf, TakesTheNearestExistingParent) {
  const auto proc = mount_of("/proc/no/such/thing");
  ASSERT_TRUE(proc);
  EXPECT_EQ(proc->type, "proc");
  EXPECT_EQ(nearest_existing("/proc/no/such/thing"), "/proc");
  EXPECT_EQ(nearest_existing("/no-such-folder/x"), "/");
}

TEST(NetworkFileSystems, AreKnown) {
  EXPECT_TRUE(is_network_file_system("nfs4"));
  for (const char* type : {"lustre", "wekafs", "pvfs2", "gpfs", "beegfs", "ceph", "fuse.rclone"}) {
    EXPECT_TRUE(is_network_file_system(type)) << type;
    EXPECT_FALSE(is_counted_file_system(type)) << type;
  }
  for (const char* type : {"fuse", "fuseblk", "zfs", "tmpfs", "9p", "virtiofs", "a new one", ""})
    EXPECT_FALSE(is_counted_file_system(type)) << type;
  for (const char* type : {"ext4", "xfs", "btrfs", "overlay"}) EXPECT_TRUE(is_counted_file_system(type)) << type;
  EXPECT_FALSE(is_network_file_system("ext4"));
  for (const char* type : {"ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay"})
    EXPECT_TRUE(is_local_file_system(type)) << type;
  for (const char* type : {"nfs4", "lustre", "gfs2", "ocfs2", "squashfs", "fuse.juicefs", "virtiofs", ""})
    EXPECT_FALSE(is_local_file_system(type)) << type;
}

}  // namespace
}  // namespace headrace::system::mount_test
