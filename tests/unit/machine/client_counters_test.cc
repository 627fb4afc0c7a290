#include "harness/machine/client_counters.h"

#include <gtest/gtest.h>

namespace headrace::system::client_counters_test {
namespace {

// As the Lustre operations manual shows a client's osc.*.stats; never read on a live client here.
TEST(LustreStats, ReportBytesFromTheServers) {
  EXPECT_EQ(parse_lustre_stats("snapshot_time             1616587829.623567 secs.nsecs\n"
                               "req_waittime              8523 samples [usec] 25 21356 1480125\n"
                               "read_bytes                31 samples [bytes] 4096 4194304 61865984\n"
                               "write_bytes               19 samples [bytes] 1 1048576 4194304\n"),
            61865984u);
  EXPECT_FALSE(parse_lustre_stats("req_active 8523 samples [reqs] 1 9 8523\n"));
}

// Names as juicefs-stats(1) reads them; never read on a live client here.
TEST(JuicefsStats, ReportBytesFromTheStore) {
  constexpr const char* kStats =
      "juicefs_blockcache_hit_bytes 777\njuicefs_object_request_data_bytes_GET 4194304\n"
      "juicefs_object_request_data_bytes_PUT 9\njuicefs_uptime 11.5\n";
  EXPECT_EQ(parse_juicefs_stats(kStats), 4194304u);
  EXPECT_EQ(parse_juicefs_stats("juicefs_object_request_data_bytes_GET 1.5e+09"), 1500000000u);
  EXPECT_FALSE(parse_juicefs_stats("juicefs_object_request_data_bytes_GET none\n"));
  EXPECT_FALSE(parse_juicefs_stats("juicefs_object_request_data_bytes_PUT 9\n"));
}

// As a patch of the kernel's CephFS client shows `metrics` (lore.kernel.org/ceph-devel, 2021); never read on a live client here.
constexpr const char* kCephMetrics =
    "item                               total\n"
    "------------------------------------------\n"
    "opened files  / total inodes       0 / 4\n"
    "\n"
    "item          total       avg_lat(us)     min_lat(us)     max_lat(us)     stdev(us)\n"
    "-----------------------------------------------------------------------------------\n"
    "read          5           914013          824797          1092343         103476\n"
    "\n"
    "item          total       avg_sz(bytes)   min_sz(bytes)   max_sz(bytes)  total_sz(bytes)\n"
    "----------------------------------------------------------------------------------------\n"
    "read          5           4194304         4194304         4194304         20971520\n"
    "write         2           4096            4096            4096            8192\n";

TEST(CephMetrics, ReportBytesFromTheServers) {
  EXPECT_EQ(parse_ceph_sizes(kCephMetrics), 20971520u);
  const std::string_view all = kCephMetrics;
  EXPECT_EQ(parse_ceph_sizes(all.substr(all.rfind("item"))), 20971520u);  // `metrics/size` of later kernels
  EXPECT_FALSE(parse_ceph_sizes(all.substr(0, all.rfind("item"))));       // latencies are no bytes
  EXPECT_FALSE(parse_ceph_sizes(""));
}

TEST(CephMetrics, AreOfThisMountOrOfNone) {
  const std::string one = "a1-2.client4235", other = "b7-9.client77", again = "a1-2.client9";
  EXPECT_EQ(ceph_client_of({one}, "10.0.0.1:6789:/"), one);
  EXPECT_EQ(ceph_client_of({one, other}, "user@b7-9.fs=/"), other);
  EXPECT_EQ(ceph_client_of({one, other}, "10.0.0.1:6789:/"), "");  // whose traffic it is cannot be reported
  EXPECT_EQ(ceph_client_of({one, again}, "user@a1-2.fs=/"), "");
  EXPECT_EQ(ceph_client_of({}, "user@a1-2.fs=/"), "");
}

TEST(ClientCounters, AreThereForFewFileSystems) {
  Mount mount;
  mount.point = "/data";
  mount.type = "fuse.juicefs";  // none where its `.stats` is not there
  EXPECT_FALSE(read_client_counters(mount));
  EXPECT_EQ(client_counters_of(mount), ".stats");
  mount.type = "ceph";  // none where debugfs is not there
  EXPECT_FALSE(read_client_counters(mount));
  EXPECT_EQ(client_counters_of(mount), "ceph metrics");
  for (const char* type : {"fuse.rclone", "wekafs", "gpfs", "fuse.glusterfs", "ext4"}) {
    mount.type = type;
    EXPECT_FALSE(read_client_counters(mount)) << type;
    EXPECT_EQ(client_counters_of(mount), "") << type;
  }
}

// The same client could be read, and what it counts would prove nothing.
TEST(ClientCounters, SayWhyTheyProveNothing) {
  Mount mount;
  const auto why = [&mount](const char* type, const char* source) {
    mount.type = type;
    mount.source = source;
    return why_not_counted(mount);
  };
  EXPECT_NE(why("gpfs", "gpfs1").find("pagepool"), std::string_view::npos);
  EXPECT_NE(why("fuse.glusterfs", "node1:/volume").find("above its caches"), std::string_view::npos);
  EXPECT_NE(why("fuse", "mfs#10.78.0.1:9421").find("MooseFS"), std::string_view::npos);
  EXPECT_EQ(why("fuse", "other"), "");
  for (const char* type : {"nfs4", "ext4", "fuse.rclone"}) EXPECT_EQ(why(type, "x"), "") << type;
}

}  // namespace
}  // namespace headrace::system::client_counters_test
