#include "harness/system/client_counters.h"

#include <gtest/gtest.h>

namespace headrace::system {
namespace {

// As nfs(5) and the kernel's fs/nfs/super.c write it; two mounts, the second over the first.
constexpr const char* kMountstats = R"(device rootfs mounted on / with fstype rootfs
device server:/other mounted on /data2 with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2,rsize=1048576,wsize=1048576
	bytes:	7 7 7 7 7 7 7 7
	per-op statistics
	        NULL: 1 1 0 44 24 0 0 0 0
	        READ: 9 9 0 1 1 1 1 1 0
device server:/export mounted on /data with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,nconnect=4
	age:	1208
	events:	4 12 0 0 8 4 20 5 0 0 0 2 0 0 2 0 0 3 0 0 0 0 0 0 0 0 0
	bytes:	6291456 1048576 2097152 0 8388608 1048576 2048 256
	RPC iostats version: 1.1  p/v: 100003/4 (nfs)
	xprt:	tcp 0 0 1 0 0 31 31 0 31 0 2 0 0
	per-op statistics
	        NULL: 1 1 0 44 24 0 0 0 0
	        READ: 8 8 0 1600 8389632 0 12 12 0
	       WRITE: 1 1 0 1048800 176 0 3 3 0
	     GETATTR: 10 10 0 2000 2400 0 1 1 0
	      LOOKUP: 20 20 0 4000 4800 0 2 2 1
)";

TEST(Mountstats, TellWhatCameFromTheServer) {
  const auto found = parse_mountstats(kMountstats, "/data");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->read_bytes, 8388608u);
  EXPECT_EQ(found->requests, 30u);
  EXPECT_EQ(parse_mountstats(kMountstats, "/data2")->read_bytes, 7u);
  EXPECT_FALSE(parse_mountstats(kMountstats, "/"));
  EXPECT_FALSE(parse_mountstats(kMountstats, "/nowhere"));
  EXPECT_FALSE(parse_mountstats("device a:/b mounted on /data with fstype nfs4\n\tbytes:\t1 2\n", "/data"));
}

// As the Lustre operations manual shows a client's osc.*.stats; never read on a live client here.
TEST(LustreStats, TellWhatCameFromTheServers) {
  EXPECT_EQ(parse_lustre_stats("snapshot_time             1616587829.623567 secs.nsecs\n"
                               "req_waittime              8523 samples [usec] 25 21356 1480125\n"
                               "read_bytes                31 samples [bytes] 4096 4194304 61865984\n"
                               "write_bytes               19 samples [bytes] 1 1048576 4194304\n"),
            61865984u);
  EXPECT_FALSE(parse_lustre_stats("req_active 8523 samples [reqs] 1 9 8523\n"));
}

// Names as juicefs-stats(1) reads them; never read on a live client here.
TEST(JuicefsStats, TellWhatCameFromTheStore) {
  constexpr const char* kStats =
      "juicefs_blockcache_hit_bytes 777\njuicefs_object_request_data_bytes_GET 4194304\n"
      "juicefs_object_request_data_bytes_PUT 9\njuicefs_uptime 11.5\n";
  EXPECT_EQ(parse_juicefs_stats(kStats), 4194304u);
  EXPECT_EQ(parse_juicefs_stats("juicefs_object_request_data_bytes_GET 1.5e+09"), 1500000000u);
  EXPECT_FALSE(parse_juicefs_stats("juicefs_object_request_data_bytes_GET none\n"));
  EXPECT_FALSE(parse_juicefs_stats("juicefs_object_request_data_bytes_PUT 9\n"));
}

TEST(ClientCounters, AreThereForFewFileSystems) {
  Mount mount;
  mount.point = "/data";
  mount.type = "fuse.juicefs";  // none where its `.stats` is not there
  EXPECT_FALSE(read_client_counters(mount));
  EXPECT_EQ(client_counters_of(mount), ".stats");
  for (const char* type : {"fuse.rclone", "wekafs", "gpfs", "ceph", "ext4"}) {
    mount.type = type;
    EXPECT_FALSE(read_client_counters(mount)) << type;
    EXPECT_EQ(client_counters_of(mount), "") << type;
  }
}

}  // namespace
}  // namespace headrace::system
