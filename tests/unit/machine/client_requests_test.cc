// Clients of shared file systems that count their requests. None of them was ever met here.
#include "harness/machine/client_counters.h"

#include <gtest/gtest.h>

namespace headrace::system::client_requests_test {
namespace {

// Lines as the Lustre manual explains them ("count samples [unit] min max sum sumsq"); the numbers are others.
constexpr const char* kOsc =
    "snapshot_time             1616587829.623567 secs.nsecs\n"
    "req_waittime              60 samples [usec] 25 21356 1480125 1\n"
    "req_active                60 samples [reqs] 1 9 180 700\n"
    "read_bytes                40 samples [bytes] 4096 4194304 61865984 1\n"
    "ost_read                  40 samples [usec] 120 8000 80000 1\n"
    "ldlm_enqueue              20 samples [usec] 100 900 6000 1\n"
    "ldlm_extent_enqueue       20 samples [reqs] 1 1 20 20\n"
    "ost_write                 0 samples [usec] 0 0 0 0\n";

TEST(LustreRequests, AreCountedByKindOverAllTargets) {
  ClientRequestTable all;
  add_lustre_requests(kOsc, all);
  add_lustre_requests(kOsc, all);
  EXPECT_EQ(all.connections, 2u);
  EXPECT_EQ(all.sent, 120u);
  EXPECT_DOUBLE_EQ(all.in_flight_sum, 360);
  ASSERT_EQ(all.kinds.size(), 2u);  // bytes are no requests, and nothing was written
  EXPECT_EQ(all.kinds[0].name, "ost_read");
  EXPECT_EQ(all.kinds[0].count, 80u);
  EXPECT_DOUBLE_EQ(all.kinds[0].round_trip_s, 0.16);
  EXPECT_EQ(all.kinds[1].name, "ldlm_enqueue");
  ClientRequestTable none;
  add_lustre_requests("ost_read 40 samples\nost_read many samples [usec] 1 1 1\n", none);
  EXPECT_TRUE(none.kinds.empty());
}

// Names as juicefs-stats(1) reads them.
TEST(JuicefsRequests, AreCountedByMethod) {
  const ClientRequestTable all = parse_juicefs_requests(
      "juicefs_object_request_durations_histogram_seconds_GET_total 12\n"
      "juicefs_object_request_durations_histogram_seconds_GET_sum 3.1e-01\n"
      "juicefs_object_request_durations_histogram_seconds_PUT_total 0\n"
      "juicefs_object_request_durations_histogram_seconds_PUT_sum 0\n"
      "juicefs_meta_ops_durations_histogram_seconds_total 7\n"
      "juicefs_meta_ops_durations_histogram_seconds_sum 0.014\n"
      "juicefs_object_request_data_bytes_GET 4194304\n"
      "juicefs_fuse_ops_durations_histogram_seconds_total 99\n"
      "juicefs_object_request_durations_histogram_seconds_HEAD_total none\n");
  ASSERT_EQ(all.kinds.size(), 2u);
  EXPECT_EQ(all.kinds[0].name, "object GET");
  EXPECT_EQ(all.kinds[0].count, 12u);
  EXPECT_DOUBLE_EQ(all.kinds[0].round_trip_s, 0.31);
  EXPECT_EQ(all.kinds[1].name, "metadata");
  EXPECT_EQ(all.kinds[1].count, 7u);
  EXPECT_TRUE(parse_juicefs_requests("").kinds.empty());
}

// As a patch of the kernel's CephFS client shows `metrics` (lore.kernel.org/ceph-devel, 2021).
TEST(CephRequests, AreCountedWithTheirMeans) {
  const ClientRequestTable all = parse_ceph_requests(
      "item          total       avg_lat(us)     min_lat(us)     max_lat(us)     stdev(us)\n"
      "-----------------------------------------------------------------------------------\n"
      "read          5           914013          824797          1092343         103476\n"
      "write         0           0               0               0               0\n"
      "metadata      4           2000            1000            3000            1\n"
      "\n"
      "item          total       avg_sz(bytes)   min_sz(bytes)   max_sz(bytes)  total_sz(bytes)\n"
      "read          5           4194304         4194304         4194304         20971520\n");
  ASSERT_EQ(all.kinds.size(), 2u);
  EXPECT_EQ(all.kinds[0].name, "read");
  EXPECT_EQ(all.kinds[0].count, 5u);
  EXPECT_DOUBLE_EQ(all.kinds[0].round_trip_s, 4.570065);
  EXPECT_DOUBLE_EQ(all.kinds[1].round_trip_s, 0.008);
}

}  // namespace
}  // namespace headrace::system::client_requests_test
