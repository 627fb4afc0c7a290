#include "harness/machine/examine/examine_file_system.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace headrace::system::examine_file_system_test {
namespace {

using Level = Finding::Level;
namespace fs = std::filesystem;

/// Copies of what a client's machine has in /proc and /sys.
class Client : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / ("client." + std::to_string(::getpid()));
    fs::create_directories(root_);
    files_.root = root_.string();
  }
  void TearDown() override { fs::remove_all(root_); }
  void has(const std::string& path, const std::string& text) {
    const fs::path file = root_.string() + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  static Mount mount(const char* type, const char* source, const char* options) {
    Mount m;
    m.point = "/data";
    m.type = type;
    m.source = source;
    m.options = options;
    m.device = "0:34";
    return m;
  }
  std::vector<Finding> look(const Mount& m) const { return examine_file_system(m, "/nowhere", files_); }
  static Finding of(const std::vector<Finding>& all, const std::string& subject) {
    for (const Finding& one : all)
      if (one.subject == subject) return one;
    ADD_FAILURE() << "nothing of " << subject;
    return {};
  }
  static void expect(const Finding& one, Level level, const std::string& words) {
    EXPECT_EQ(one.level, level) << one.text;
    EXPECT_NE((one.text + "|" + one.advice).find(words), std::string::npos) << one.text << "|" << one.advice;
  }

  fs::path root_;
  ClientFiles files_;
};

constexpr const char* kTcp = "rw,relatime,vers=4.2,rsize=1048576,hard,proto=tcp,nconnect=4";

TEST_F(Client, NfsReportsRequestsInFlight) {
  has("/sys/class/bdi/0:34/read_ahead_kb", "15360\n");
  has("/proc/sys/sunrpc/tcp_max_slot_table_entries", "65536\n");
  has("/sys/module/nfs/parameters/max_session_slots", "64\n");
  has("/proc/self/mountstats",
      "device s:/ mounted on /data with fstype nfs4 statvers=1.1\n\tbytes:\t1 0 0 0 1 0 1 0\n"
      "\txprt:\ttcp 0 0 2 0 0 47 47 0 47 0 9 0 0\n\tper-op statistics\n\t        READ: 100 100 0 1 1 9 200 300 0\n");
  const auto found = look(mount("nfs4", "s:/", kTcp));
  expect(of(found, "NFS"), Level::note,
         "one TCP connection");  // counted, whatever the options say: the first mount decides
  expect(of(found, "read-ahead"), Level::good, "15.0 MiB");
  // 64 requests of 1 MiB at 2 ms each
  expect(of(found, "requests"), Level::good,
         "at most 64 under way (1 x 65536 tcp_max_slot_table_entries; max_session_slots 64)");
  expect(of(found, "requests"), Level::good, "reads took 2 ms each so far, at which they carry 33.6 GB/s at most");
}

TEST_F(Client, NfsReportsBadSettings) {
  has("/sys/class/bdi/0:34/read_ahead_kb", "128\n");
  auto found = look(mount("nfs", "s:/", "rw,vers=3,rsize=1048576,soft,proto=tcp,nconnect=4"));
  expect(of(found, "NFS"), Level::warning, "mount with hard");
  expect(of(found, "read-ahead"), Level::note, "nfsrahead(5)");
  expect(of(found, "requests"), Level::good, "at most 262144 under way");  // no sessions in version 3
  expect(of(look(mount("nfs4", "s:/", "rw,vers=4.2,rsize=131072,hard,proto=tcp,nconnect=4")), "NFS"), Level::note,
         "rsize=1048576");
  expect(of(look(mount("nfs", "s:/", "rw,vers=3,rsize=32768,hard,proto=udp")), "NFS"), Level::warning, "proto=tcp");
  expect(of(look(mount("nfs4", "s:/", kTcp)), "NFS"), Level::good, "4 connections");
  has("/proc/self/mountstats",
      "device s:/ mounted on /data with fstype nfs4 statvers=1.1\n\tbytes:\t1 0 0 0 1 0 1 0\n"
      "\txprt:\ttcp 0 0 2 0 0 47 47 0 47 3 64 0 0\n");
  expect(of(look(mount("nfs4", "s:/", kTcp)), "requests"), Level::warning, "max_session_slots=180");
}

// As the Lustre operations manual shows them; never read on a live client here.
TEST_F(Client, LustreIsComparedWithTheNeedOfGpus) {
  for (const char* target : {"lfs-OST0000-osc-ffff8801", "lfs-OST0001-osc-ffff8801"}) {
    const std::string folder = std::string("/sys/fs/lustre/osc/") + target;
    has(folder + "/max_rpcs_in_flight", "8\n");
    has(folder + "/max_pages_per_rpc", "256\n");
    has(folder + "/max_dirty_mb", "32\n");
    has(folder + "/checksums", "1\n");
  }
  has("/sys/fs/lustre/osc/other-OST0000-osc-ffff8801/max_rpcs_in_flight", "1\n");
  has("/sys/fs/lustre/version", "2.15.3\n");
  has("/sys/fs/lustre/llite/lfs-ffff8801/max_read_ahead_mb", "64.00\n");
  const Mount lfs = mount("lustre", "10.0.0.1@o2ib:/lfs", "rw");
  auto found = look(lfs);
  expect(of(found, "Lustre"), Level::good, "2.15.3; 2 object storage targets (parsed, never run here)");
  expect(of(found, "RPC size"), Level::note, "1.00 MiB");
  expect(of(found, "RPCs"), Level::note, "8 in flight to each target, 16 in all");
  expect(of(found, "dirty"), Level::note, "max_dirty_mb=512");
  expect(of(found, "checksums"), Level::note, "checksums=0");
  expect(of(found, "read-ahead"), Level::note, "64 MiB");
  for (const char* target : {"lfs-OST0000-osc-ffff8801", "lfs-OST0001-osc-ffff8801"})
    has(std::string("/sys/fs/lustre/osc/") + target + "/max_rpcs_in_flight", "32\n");
  expect(of(look(lfs), "RPCs"), Level::good, "64 in all");
}

TEST_F(Client, OfLustreReportsStripes) {
  std::array<unsigned char, 32> v1{0xD0, 0x0B, 0xD1, 0x0B};
  v1[26] = 0x10;  // 1 MiB
  v1[28] = 4;
  const auto stripes = parse_lustre_stripes(v1);
  ASSERT_TRUE(stripes);
  EXPECT_EQ(stripes->size, 1u << 20);
  EXPECT_EQ(stripes->count, 4u);
  v1[2] = 0xD6;
  EXPECT_TRUE(parse_lustre_stripes(v1)->composite);
  v1[0] = 0;
  EXPECT_FALSE(parse_lustre_stripes(v1));
  EXPECT_FALSE(parse_lustre_stripes(std::span(v1).first(16)));
}

TEST_F(Client, OfOthersIsReportedWithItsSource) {
  expect(of(look(mount("ceph", "10.0.0.1:/", "rw,rasize=131072")), "CephFS"), Level::note, "rasize=67108864");
  expect(of(look(mount("ceph", "10.0.0.1:/", "rw")), "counters"), Level::note, "cold is not provable");
  has("/sys/kernel/debug/ceph/a1-2.client4235/mdsc", "");
  expect(of(look(mount("ceph", "10.0.0.1:/", "rw")), "counters"), Level::good, "a1-2.client4235");

  expect(of(look(mount("gpfs", "gpfs1", "rw")), "GPFS"), Level::note, "cannot be read");
  has("/var/mmfs/gen/mmfs.cfg", "# a cluster's\npagepool 16G\nmaxFilesToCache 128000\n[gpu]\nverbsRdma enable\n");
  expect(of(look(mount("gpfs", "gpfs1", "rw")), "GPFS"), Level::good,
         "pagepool 16G, maxFilesToCache 128000, maxMBpS the default");
  expect(of(look(mount("gpfs", "gpfs1", "rw")), "RDMA"), Level::good, "verbsRdma enable");

  has("/proc/fs/beegfs/1A2B-1/config", "connMaxInternodeNum = 4\nconnUseRDMA = 1\ntuneFileCacheType = buffered\n");
  const auto beegfs = look(mount("beegfs", "beegfs_nodev", "rw"));
  expect(of(beegfs, "BeeGFS"), Level::note, "tuneFileCacheType buffered");
  expect(of(beegfs, "connections"), Level::note, "connMaxInternodeNum 4, connUseRDMA 1");

  expect(of(look(mount("wekafs", "fs", "rw,readcache,readahead_kb=32768")), "Weka"), Level::good,
         "readcache, readahead_kb 32768");

  has("/data/.stats", "juicefs_blockcache_bytes 1048576\njuicefs_blockcache_hits 3\njuicefs_blockcache_miss 1\n");
  has("/etc/cufile.json",
      "{\n  // \"allow_compat_mode\": false,\n  \"properties\": {\n    \"allow_compat_mode\": true,\n  }\n}\n");
  const auto juicefs = look(mount("fuse.juicefs", "JuiceFS:x", "rw"));
  expect(of(juicefs, "JuiceFS"), Level::good, "cache holds 1.00 MiB, served 75 % of the blocks");
  expect(of(juicefs, "GDS"), Level::note, "allow_compat_mode true");
}

TEST_F(Client, OfALocalDiskIsNone) {
  has("/etc/cufile.json", "\"allow_compat_mode\": true\n");
  EXPECT_TRUE(look(mount("ext4", "/dev/vda1", "rw")).empty());
  EXPECT_TRUE(look(mount("fuse.rclone", "remote:", "rw")).empty());
}

}  // namespace
}  // namespace headrace::system::examine_file_system_test
