#include "harness/machine/network/network_ports.h"

#include <gtest/gtest.h>

#include "harness/machine/network/host_addresses.h"
#include "tests/unit/made_up_ports.h"

namespace headrace::rail_interfaces_test {
namespace {

using Names = std::vector<std::string>;

/// Interfaces of a made-up /sys, all up, all with an address.
class RailInterfaces : public testing::MadeUpPorts {
 protected:
  Names rails() { return rails_among(system::network_links(sys())).names; }
  Names left_out() { return rails_among(system::network_links(sys())).left_out; }
  void cards(const Names& names) {
    for (const std::string& name : names) ethernet(name);
  }
};

TEST(RailNames, AreThoseNamedInTheirOrder) {
  EXPECT_EQ(rail_interfaces("eth1, eth0,ib10").names, (Names{"eth1", "eth0", "ib10"}));
  for (const std::string& name : rail_interfaces("").names) EXPECT_NE(name, "lo");
}

TEST_F(RailInterfaces, CardsInTheOrderOfTheirNumbers) {
  cards({"eth10", "eth2", "eth0"});
  EXPECT_EQ(rails(), (Names{"eth0", "eth2", "eth10"}));
}

TEST_F(RailInterfaces, AnInterfaceOverACardIsARail) {
  for (const char* kind : {"bond", "vlan", "macvlan", "ipvlan", ""}) {  // a team has no kind
    cards({"eth0", "eth1"});
    stacked("up0", kind, {"eth1"});
    const Names both = std::string(kind) == "bond" ? Names{"eth0", "up0"} : Names{"eth0", "eth1", "up0"};
    EXPECT_EQ(rails(), both) << kind;
    std::filesystem::remove_all(sys() + "/class");
  }
}

TEST_F(RailInterfaces, AVlanOfABondOfCards) {
  cards({"eth0", "eth1"});
  stacked("bond0", "bond", {"eth0", "eth1"});
  stacked("bond0.7", "vlan", {"bond0"});
  EXPECT_EQ(rails(), (Names{"bond0", "bond0.7"}));
}

TEST_F(RailInterfaces, BridgesWithoutACardAndDummiesNeverAre) {
  cards({"eth0"});
  stacked("veth1", "");
  stacked("docker0", "bridge", {"veth1"});
  stacked("virbr0", "bridge");
  EXPECT_EQ(rails(), (Names{"eth0"}));
  EXPECT_EQ(left_out().size(), 2u);
  EXPECT_EQ(left_out()[0].find("docker0 (no network card behind it"), 0u) << left_out()[0];
}

/// Of containers and virtual hosts, which have a veth alone.
TEST_F(RailInterfaces, AVethIsARailWhereThereIsNothingElse) {
  stacked("eth0", "");
  stacked("veth1", "");
  stacked("docker0", "bridge", {"veth1"});
  EXPECT_EQ(rails(), (Names{"eth0"}));
  ethernet("eth1");
  EXPECT_EQ(rails(), (Names{"eth1"}));
  EXPECT_EQ(left_out()[0].find("docker0 ("), 0u);
  EXPECT_EQ(left_out()[1], "eth0 (no network card behind it)");
}

TEST_F(RailInterfaces, ABondOfVethsReplacesThem) {
  for (const char* name : {"eth0", "eth1"}) stacked(name, "");
  stacked("bond0", "bond", {"eth0", "eth1"});
  stacked("docker0", "bridge");
  EXPECT_EQ(rails(), (Names{"bond0"}));
}

TEST_F(RailInterfaces, ABridgeWithACardIsOneWhereNoCardHasAnAddress) {
  cards({"eth0"});
  stacked("br0", "bridge", {"eth0"});
  EXPECT_EQ(rails(), (Names{"br0"}));
  ethernet("eth1");
  EXPECT_EQ(rails(), (Names{"eth1"}));
}

TEST_F(RailInterfaces, AMacvlanWithItsCardOutsideTheContainer) {
  stacked("net1", "macvlan");
  stacked("eth0", "");
  EXPECT_EQ(rails(), (Names{"net1"}));
}

TEST_F(RailInterfaces, AVxlanOverACardAndAVrfAreNone) {
  cards({"eth0"});
  stacked("flannel.1", "vxlan", {"eth0"});
  EXPECT_EQ(rails(), (Names{"eth0"}));
  stacked("blue", "vrf", {"eth0"});
  EXPECT_EQ(rails(), (Names{"eth0"})) << "a card keeps its address in a VRF";
}

TEST_F(RailInterfaces, AddressesThatOthersKnowAHostBy) {
  cards({"eth0", "usb0"});
  std::filesystem::create_directories(sys() + "/bus/usb");
  std::filesystem::create_directory_symlink(sys() + "/bus/usb", sys() + "/class/net/usb0/device/subsystem");
  put("class/net/ib0/type", "32");
  card("class/net/ib0/device");
  stacked("veth1", "");
  stacked("docker0", "bridge", {"veth1"});
  const HostAddresses all{
      {"lo", "127.0.0.1", true},        {"eth0", "10.0.0.1"}, {"eth0", "169.254.3.4"},   {"usb0", "192.168.31.2"},
      {"tmfifo_net0", "192.168.100.1"}, {"ib0", "10.1.0.1"},  {"docker0", "172.17.0.1"}, {"veth1", "10.9.0.1"}};
  EXPECT_EQ(host_addresses(all, sys()), (HostAddresses{{"eth0", "10.0.0.1"}, {"ib0", "10.1.0.1"}}));
  const HostAddresses container{{"lo", "127.0.0.1", true}, {"veth1", "10.9.0.1"}, {"docker0", "172.17.0.1"}};
  EXPECT_EQ(host_addresses(container, sys()), (HostAddresses{{"veth1", "10.9.0.1"}}));
}

}  // namespace
}  // namespace headrace::rail_interfaces_test
