#include "harness/machine/nfs_stats.h"

#include <gtest/gtest.h>

namespace headrace::system::nfs_stats_test {
namespace {

// As Linux 6.1 wrote it of a mount with nconnect=4 over TCP; its numbers are others. Two mounts, the second over the first.
constexpr const char* kMountstats = R"(device rootfs mounted on / with fstype rootfs
device server:/other mounted on /data2 with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2,rsize=1048576,wsize=1048576
	bytes:	7 7 7 7 7 7 7 7
	xprt:	rdma 0 0 1 0 0 9 9 0 18 3 1 2 3 4 5 0 0 0 0 0 0 0 0 0 0 0 0 0
	per-op statistics
	        NULL: 1 1 0 44 24 0 0 0 0
	        READ: 9 9 0 1 1 1 1 1 0
device server:/export mounted on /my\040data with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2,rsize=131072,wsize=131072,namlen=255,hard,proto=tcp,nconnect=2
	age:	15
	events:	0 0 0 1 0 0 4 0 0 128 0 0 0 0 4 0 0 2 0 0 0 0 0 0 0 0 0 
	bytes:	33554432 0 0 0 16777216 0 4096 0 
	RPC iostats version: 1.1  p/v: 100003/4 (nfs)
	xprt:	tcp 0 0 2 0 0 47 47 0 94 5 31 0 0
	xprt:	tcp 0 0 2 0 0 39 39 0 39 0 2 0 0
	per-op statistics
	        NULL: 1 1 0 44 24 16 16 37 0
	        READ: 128 130 2 23040 16790528 125 405 564 1
	       WRITE: 0 0 0 0 0 0 0 0 0
	        OPEN: 8 8 0 1856 1056 5 45 61 7
	     GETATTR: 3 3 0 600 700 0 1 1
)";

TEST(Mountstats, ReportBytesFromTheServer) {
  const auto found = parse_mountstats(kMountstats, "/my data");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->read_bytes, 16777216u);
  EXPECT_EQ(found->name_requests, 11u);
  EXPECT_EQ(parse_mountstats(kMountstats, "/data2")->read_bytes, 7u);
  EXPECT_FALSE(parse_mountstats(kMountstats, "/"));
  EXPECT_FALSE(parse_mountstats(kMountstats, "/my\\040data"));
  EXPECT_FALSE(parse_mountstats("device a:/b mounted on /data with fstype nfs4\n\tbytes:\t1 2\n", "/data"));
}

TEST(Mountstats, AddUpConnections) {
  const NfsTransports all = parse_mountstats(kMountstats, "/my data")->transports;
  EXPECT_EQ(all.protocol, "tcp");
  EXPECT_EQ(all.connections, 2u);
  EXPECT_EQ(all.sent, 86u);
  EXPECT_EQ(all.in_flight_sum, 133u);
  EXPECT_EQ(all.waiting_sum, 5u);
  EXPECT_EQ(all.most_slots, 31u);
  const NfsTransports rdma = parse_mountstats(kMountstats, "/data2")->transports;
  EXPECT_EQ(rdma.protocol, "rdma");
  EXPECT_EQ(rdma.in_flight_sum, 18u);
  EXPECT_EQ(rdma.waiting_sum, 3u);
  EXPECT_EQ(rdma.most_slots, 0u);  // the twelfth word is another there
}

TEST(Mountstats, ReportWhereRequestsWaited) {
  const auto found = parse_mountstats(kMountstats, "/my data");
  ASSERT_EQ(found->operations.size(), 4u);  // WRITE was never asked for
  const NfsOperation& read = found->operations[1];
  EXPECT_EQ(read.name, "READ");
  EXPECT_EQ(read.requests, 128u);
  EXPECT_EQ(read.sent, 130u);
  EXPECT_EQ(read.queue_ms, 125u);
  EXPECT_EQ(read.round_trip_ms, 405u);
  EXPECT_EQ(read.execution_ms, 564u);
  EXPECT_EQ(read.errors, 1u);
  EXPECT_EQ(found->operations[3].errors, 0u);  // older kernels count none
}

}  // namespace
}  // namespace headrace::system::nfs_stats_test
