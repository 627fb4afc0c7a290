#include "workloads/gpu/link_rates.h"

#include <gtest/gtest.h>

#include "tests/unit/temporary_folder.h"

namespace headrace::link_rates_test {
namespace {

TEST(LinkRates, RawByGenerationAndWidth) {
  EXPECT_NEAR(link_raw_bandwidth({4, 4}), 7.877e9, 1e6);
  EXPECT_NEAR(link_raw_bandwidth({5, 16}), 63.02e9, 1e7);
  EXPECT_NEAR(link_raw_bandwidth({1, 1}), 250e6, 1);
  EXPECT_NEAR(link_raw_bandwidth({6, 16}), 121e9, 1e6);
  EXPECT_EQ(link_raw_bandwidth({0, 16}), 0);
  EXPECT_EQ(link_raw_bandwidth({5, 0}), 0);
  EXPECT_EQ(link_raw_bandwidth({9, 16}), 0);
}

TEST(LinkRates, TheRestOfPackets) {
  EXPECT_NEAR(link_effective_bandwidth(63.02e9, 256), 57.61e9, 1e7);
  EXPECT_NEAR(link_effective_bandwidth(63.02e9, 128), 53.07e9, 1e7);
}

TEST(LinkRates, PageableBounds) {
  const PageableBounds bounds = pageable_bounds(12e9, 55.4e9);
  EXPECT_NEAR(bounds.serial, 9.864e9, 1e6);
  EXPECT_NEAR(bounds.pipelined, 12e9, 1);
}

TEST(LinkRates, ExposedTime) {
  EXPECT_EQ(exposed_copy_time(154.1e6, 55.4e9, 0.2, true), 0);
  EXPECT_NEAR(exposed_copy_time(154.1e6, 12e9, 0.2, false), 12.84e-3, 1e-5);
  EXPECT_NEAR(exposed_copy_time(10e9, 10e9, 0.25, true), 0.75, 1e-9);
}

/// A configuration space whose PCI Express capability comes second.
std::string space(unsigned char device_control) {
  std::string bytes(256, '\0');
  bytes[0x34] = 0x50;
  bytes[0x50] = 0x01;  // power management
  bytes[0x51] = 0x70;
  bytes[0x70] = 0x10;  // PCI Express
  bytes[0x78] = static_cast<char>(device_control);
  return bytes;
}

TEST(LinkRates, MaxPayloadFromTheConfigurationSpace) {
  testing::TemporaryFolder root;
  const auto lay = [&](const std::string& bytes) { root.write("sys/bus/pci/devices/0000:17:00.0/config", bytes); };
  lay(space(0x2f));  // bits 7:5 are 001
  EXPECT_EQ(pcie_max_payload("0000:17:00.0", root.path()), 256u);
  lay(space(0x0f));
  EXPECT_EQ(pcie_max_payload("0000:17:00.0", root.path()), 128u);
  lay(space(0x2f).substr(0, 64));  // what is shown to others than root
  EXPECT_EQ(pcie_max_payload("0000:17:00.0", root.path()), 0u);
  std::string circle = space(0x2f);
  circle[0x70] = 0x05;
  circle[0x71] = 0x50;
  lay(circle);
  EXPECT_EQ(pcie_max_payload("0000:17:00.0", root.path()), 0u);
  EXPECT_EQ(pcie_max_payload("0000:99:00.0", root.path()), 0u);
  EXPECT_EQ(pcie_max_payload("", root.path()), 0u);
}

}  // namespace
}  // namespace headrace::link_rates_test
