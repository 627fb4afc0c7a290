#include "harness/network/rail_interfaces.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(RailInterfaces, AreThoseNamedInTheirOrder) {
  const std::vector<std::string> named{"eth1", "eth0", "ib10"};
  EXPECT_EQ(rail_interfaces("eth1, eth0,ib10"), named);
  for (const std::string& name : rail_interfaces("")) EXPECT_NE(name, "lo");
}

}  // namespace
}  // namespace headrace
