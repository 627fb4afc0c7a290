#include "harness/machine/near_cpus.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headrace::system::near_cpus_test {
namespace {

constexpr const char* kInterrupts =
    "            CPU0       CPU2       CPU3\n"
    " 35:          1          0          0  PCI-MSIX 0-edge virtio1-config\n"
    " 36:          9         30          0  PCI-MSIX 1-edge virtio1-req.0\n"
    " 37:       5000          0          0  PCI-MSIX 1-edge other\n"
    "NMI:          7          7          7  Non-maskable interrupts\n";

TEST(NearCpusTest, CountsTheDevicesOwnInterrupts) {
  const auto shares = interrupt_shares(kInterrupts, {35, 36});
  ASSERT_EQ(shares.size(), 4u);
  EXPECT_DOUBLE_EQ(shares[0], 0.25);
  EXPECT_DOUBLE_EQ(shares[1], 0);  // no such CPU
  EXPECT_DOUBLE_EQ(shares[2], 0.75);
  EXPECT_DOUBLE_EQ(shares[3], 0);
}

TEST(NearCpusTest, KnowsNothingWithoutInterrupts) {
  EXPECT_TRUE(interrupt_shares(kInterrupts, {99}).empty());
  EXPECT_TRUE(interrupt_shares(kInterrupts, {}).empty());
  EXPECT_TRUE(interrupt_shares("", {35}).empty());
}

TEST(NearCpusTest, OrdersAndLosesNone) {
  const std::vector<int> cpus{3, 0, 1};
  EXPECT_EQ(near_first(cpus, std::nullopt), cpus);
  auto ordered = near_first(cpus, device_of("/"));
  EXPECT_TRUE(std::is_permutation(ordered.begin(), ordered.end(), cpus.begin(), cpus.end()));
  EXPECT_EQ(near_first(cpus, BlockDevice{"none", "/sys/dev/block/0:0"}), cpus);
}

}  // namespace
}  // namespace headrace::system::near_cpus_test
