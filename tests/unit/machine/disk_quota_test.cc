// What a quota leaves.
#include "harness/machine/disk_quota.h"

#include <gtest/gtest.h>

namespace headrace::system::disk_quota_test {
namespace {

TEST(DiskQuota, LeavesTheRestOfTheHardLimits) {
  dqblk quota{};
  EXPECT_EQ(rest_of(quota), QuotaRest{}) << "no limit";
  quota.dqb_bhardlimit = 10;  // of 1 KiB
  quota.dqb_curspace = 4096;
  quota.dqb_ihardlimit = 100;
  quota.dqb_curinodes = 40;
  EXPECT_EQ(rest_of(quota), (QuotaRest{.bytes = 6144, .files = 60}));
  quota.dqb_curspace = 20 << 10;  // after the limit was lowered
  quota.dqb_curinodes = 100;
  EXPECT_EQ(rest_of(quota), (QuotaRest{.bytes = 0, .files = 0}));
}

TEST(DiskQuota, IsNoneWithoutAnAnswer) { EXPECT_EQ(quota_rest("/proc"), QuotaRest{}); }

}  // namespace
}  // namespace headrace::system::disk_quota_test
