// Ports of a made-up /sys: one of each that a cluster node has, and what each fault looks like.
#include "harness/machine/network_links.h"

#include <gtest/gtest.h>

#include "harness/machine/examine/examine_network.h"
#include "tests/unit/made_up_ports.h"

namespace headrace::system::network_links_test {
namespace {

class NetworkLinks : public testing::MadeUpPorts {
 protected:
  std::vector<Finding> findings(const std::vector<NcclSetting>& settings = {}) {
    return examine_network(network_links(sys()), settings, ip_interfaces(sys()));
  }
  /// The finding about `subject` that is first.
  Finding about(const std::string& subject, const std::vector<NcclSetting>& settings = {}) {
    for (const Finding& f : findings(settings))
      if (f.subject == subject) return f;
    ADD_FAILURE() << "nothing about " << subject;
    return {};
  }
};

TEST_F(NetworkLinks, ReadsRatesLanesPciAndPlace) {
  ethernet("eth0");
  rdma("mlx5_0");
  put("class/net/lo/type", "772");
  const auto links = network_links(sys());
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].name, "eth0");
  EXPECT_DOUBLE_EQ(links[0].rate, 12.5e9);
  EXPECT_EQ(links[0].mtu, 9000u);
  EXPECT_TRUE(links[0].up && links[0].physical && !links[0].rdma);
  EXPECT_EQ(links[1].name, "mlx5_0/1");
  EXPECT_EQ(links[1].kind, "InfiniBand");
  EXPECT_EQ(links[1].state, "ACTIVE, LinkUp");
  EXPECT_DOUBLE_EQ(links[1].rate, 50e9);
  EXPECT_EQ(links[1].lanes, 4u);
  EXPECT_EQ(links[1].numa_node, 1);
  ASSERT_TRUE(links[1].host_link);
  EXPECT_EQ(in_words(*links[1].host_link), "PCIe gen 5 x16");
  for (const Finding& f : findings()) EXPECT_EQ(f.level, Finding::Level::good) << f.subject << ": " << f.text;
}

TEST_F(NetworkLinks, NothingThereIsNoFault) {
  EXPECT_TRUE(network_links(sys() + "/nowhere").empty());
  EXPECT_EQ(about("RDMA").level, Finding::Level::missing);
}

TEST_F(NetworkLinks, APortThatIsDown) {
  rdma("mlx5_0");
  rdma("mlx5_1", "10 Gb/sec (4X SDR)", "1: DOWN");
  put("class/infiniband/mlx5_1/ports/1/phys_state", "3: Disabled");
  EXPECT_EQ(about("mlx5_1/1").level, Finding::Level::note) << "its sister carries the traffic";
  rdma("mlx5_0", "10 Gb/sec (4X SDR)", "1: DOWN");
  put("class/infiniband/mlx5_0/ports/1/phys_state", "3: Disabled");
  EXPECT_EQ(about("mlx5_1/1").level, Finding::Level::warning);
  EXPECT_EQ(about("mlx5_1/1").advice, "the port is switched off: ip link set NAME up, or the switch's setting");
  put("class/infiniband/mlx5_1/ports/1/phys_state", "2: Polling");
  EXPECT_EQ(about("mlx5_1/1").advice, "look at the cable, and at the switch's port");
}

TEST_F(NetworkLinks, NoSubnetManager) {
  rdma("mlx5_0");
  rdma("mlx5_1", "400 Gb/sec (4X NDR)", "2: INIT");
  EXPECT_EQ(about("mlx5_1/1").level, Finding::Level::warning);
  EXPECT_NE(about("mlx5_1/1").advice.find("subnet manager"), std::string::npos);
}

TEST_F(NetworkLinks, LanesOrSpeedLost) {
  for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_2"})
    put(std::string("class/infiniband/") + name + "/device/device", "0x1021");
  rdma("mlx5_0");
  rdma("mlx5_1", "100 Gb/sec (1X NDR)");
  rdma("mlx5_2", "200 Gb/sec (4X HDR)");
  EXPECT_EQ(about("mlx5_0/1").level, Finding::Level::good);
  EXPECT_NE(about("mlx5_1/1").advice.find("lanes are lost"), std::string::npos);
  EXPECT_NE(about("mlx5_2/1").advice.find("400 Gbit/s"), std::string::npos) << about("mlx5_2/1").advice;
}

TEST_F(NetworkLinks, TwoLanesOfASplitCableAreNotLost) {
  rdma("mlx5_0", "100 Gb/sec (2X HDR)");
  EXPECT_EQ(about("mlx5_0/1").level, Finding::Level::note);
  EXPECT_NE(about("mlx5_0/1").advice.find("split cable"), std::string::npos);
  rdma("mlx5_1", "400 Gb/sec (4X NDR)");  // of another generation: storage beside rails
  EXPECT_EQ(about("mlx5_0/1").level, Finding::Level::note);
  rdma("mlx5_2", "200 Gb/sec (4X HDR)");  // its sister has four
  EXPECT_EQ(about("mlx5_0/1").level, Finding::Level::warning);
}

TEST_F(NetworkLinks, EthernetLosesNoLanes) {
  rdma("mlx5_0", "25 Gb/sec (1X EDR)", "4: ACTIVE", "Ethernet");
  rdma("mlx5_1", "100 Gb/sec (4X EDR)", "4: ACTIVE", "Ethernet");
  put("class/infiniband/mlx5_0/device/device", "0x1015");
  EXPECT_EQ(about("mlx5_0/1").level, Finding::Level::good);
  put("class/infiniband/mlx5_1/device/device", "0x1015");  // of one model now
  EXPECT_NE(about("mlx5_0/1").advice.find("slower than its sisters"), std::string::npos);
}

TEST_F(NetworkLinks, ABondsLegsCountTogether) {
  ethernet("eth0", "200000");
  ethernet("eth1", "200000");
  stacked("bond0", "bond", {"eth0", "eth1"});
  rdma("mlx5_bond_0", "200 Gb/sec (4X HDR)", "4: ACTIVE", "Ethernet");
  put("class/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/0", "bond0");
  EXPECT_DOUBLE_EQ(network_links(sys()).back().rate, 50e9);
  EXPECT_EQ(about("mlx5_bond_0/1").level, Finding::Level::good);
  put("class/net/bond0/bonding/mode", "active-backup 1");
  EXPECT_DOUBLE_EQ(network_links(sys()).back().rate, 25e9);
  EXPECT_NE(about("mlx5_bond_0/1").text.find("200 Gbit/s over one at a time of 2 of 2 legs"), std::string::npos);
  put("class/net/bond0/bonding/mode", "802.3ad 4");
  put("class/net/eth1/operstate", "down");
  EXPECT_NE(about("mlx5_bond_0/1").text.find("1 of 2 legs"), std::string::npos);
  EXPECT_EQ(about("mlx5_bond_0/1").level, Finding::Level::warning);
}

TEST_F(NetworkLinks, PlanesAreNoPortsOfTheirOwn) {
  for (const char* name : {"mlx5_0", "mlx5_1", "smi1"}) rdma(name, "800 Gb/sec (4X XDR)");
  EXPECT_EQ(network_links(sys()).size(), 3u) << "as long as /sys does not report what programs can open";
  put("class/infiniband_verbs/uverbs0/ibdev", "mlx5_0");
  put("class/infiniband_verbs/uverbs1/ibdev", "mlx5_1");
  const auto links = network_links(sys());
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links.back().name, "mlx5_1/1");
}

TEST_F(NetworkLinks, ASlotThatGivesLess) {
  rdma("mlx5_0");
  card("class/infiniband/mlx5_0/device", "16.0 GT/s PCIe", "8");
  const Finding f = about("mlx5_0/1");
  EXPECT_EQ(f.level, Finding::Level::warning);
  EXPECT_NE(f.text.find("PCIe gen 4 x8 of gen 5 x16"), std::string::npos) << f.text;
}

TEST_F(NetworkLinks, SmallPacketsUnderRoce) {
  ethernet("eth0", "100000", "1500");
  rdma("mlx5_0", "100 Gb/sec (4X EDR)", "4: ACTIVE", "Ethernet");
  put("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0");
  put("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1", "eth0");
  bool reported = false;
  for (const Finding& f : findings()) reported = reported || f.text.find("eth0 has MTU 1500") != std::string::npos;
  EXPECT_TRUE(reported);
  ethernet("eth1", "100000");
  rdma("mlx5_1", "100 Gb/sec (4X EDR)", "4: ACTIVE", "Ethernet");
  put("class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/0", "eth1");
  reported = false;
  for (const Finding& f : findings())
    reported = reported || (f.level == Finding::Level::warning && f.subject == "mlx5_0/1" &&
                            f.text.find("and a sister port's has 9000") != std::string::npos);
  EXPECT_TRUE(reported);
}

TEST_F(NetworkLinks, ErrorsAndTheirGrowth) {
  rdma("mlx5_0");
  put("class/infiniband/mlx5_0/ports/1/counters/port_rcv_errors", "7");
  put("class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err", "9");
  const auto before = network_links(sys());
  put("class/infiniband/mlx5_0/ports/1/counters/port_rcv_errors", "10");
  put("class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err", "1");  // was reset
  const auto risen = risen_errors(before, network_links(sys()));
  ASSERT_EQ(risen.size(), 1u);
  EXPECT_EQ(risen.at("mlx5_0/1"), "port_rcv_errors +3");
  EXPECT_TRUE(risen_errors(before, before).empty());
  bool reported = false;
  for (const Finding& f : findings()) reported = reported || f.text.find("port_rcv_errors 10") != std::string::npos;
  EXPECT_TRUE(reported);
}

TEST_F(NetworkLinks, SettingsOfNccl) {
  rdma("mlx5_0");
  ethernet("eth0");
  using Level = Finding::Level;
  EXPECT_EQ(about("NCCL", {{"NCCL_IB_DISABLE", "1"}}).level, Level::warning);
  EXPECT_EQ(about("NCCL", {{"NCCL_IB_DISABLE", "0"}}).level, Level::note);
  EXPECT_EQ(about("NCCL", {{"NCCL_P2P_DISABLE", "1"}}).level, Level::warning);
  EXPECT_EQ(about("NCCL", {{"NCCL_SOCKET_IFNAME", "eth"}}).level, Level::good);
  EXPECT_EQ(about("NCCL", {{"NCCL_SOCKET_IFNAME", "ib0,bond0"}}).level, Level::warning);
  EXPECT_EQ(about("NCCL", {{"NCCL_IB_HCA", "=mlx5_0:1"}}).level, Level::good);
  EXPECT_EQ(about("NCCL", {{"NCCL_IB_HCA", "mlx4"}}).level, Level::warning);
  EXPECT_EQ(about("NCCL", {{"NCCL_IB_HCA", "mlx5"}}).text, "NCCL_IB_HCA=mlx5: mlx5_0/1");
  EXPECT_EQ(about("NCCL", {{"NCCL_IB_HCA", "mlx5_0:2"}}).level, Level::warning);
  EXPECT_EQ(about("NCCL", {{"NCCL_SOCKET_IFNAME", "eth,en,bond"}}).level, Level::note) << "a cluster's list";
  EXPECT_EQ(about("NCCL", {{"NCCL_SOCKET_IFNAME", "^docker,lo"}}).level, Level::note);
  put("class/net/eth0/operstate", "down");
  EXPECT_EQ(about("NCCL", {{"NCCL_SOCKET_IFNAME", "eth0"}}).level, Level::warning) << "it is down";
  rdma("mlx5_01");
  EXPECT_NE(about("NCCL", {{"NCCL_IB_HCA", "mlx5_0"}}).text.find("mlx5_0 takes mlx5_01, too"), std::string::npos);
  EXPECT_EQ(about("NCCL", {{"NCCL_DEBUG", "INFO"}}).level, Level::note);
}

TEST_F(NetworkLinks, NcclTakesInterfacesWithAnAddressAndNotLoopbackForSeveralHosts) {
  using Level = Finding::Level;
  const auto finding = [](const std::string& value) {
    const std::vector<IpInterface> all{{"eth0", true}, {"eth1", true, false}, {"lo", true}};
    return examine_network({}, {{"NCCL_SOCKET_IFNAME", value}}, all).back();
  };
  for (const char* const leg : {"eth1", "=eth1", "^eth0,lo"}) {
    EXPECT_EQ(finding(leg).level, Level::warning) << leg;
    EXPECT_NE(finding(leg).text.find("no IP address on eth1"), std::string::npos) << finding(leg).text;
  }
  for (const char* const loopback : {"lo", "=lo,eth0", "^eth0", "^docker"}) {
    EXPECT_EQ(finding(loopback).level, Level::warning) << loopback;
    EXPECT_NE(finding(loopback).text.find("lo reaches this host alone"), std::string::npos) << finding(loopback).text;
  }
  EXPECT_EQ(finding("^eth0").advice, "write NCCL_SOCKET_IFNAME=^eth0,lo");
  EXPECT_EQ(finding("eth0").level, Level::good);
  EXPECT_EQ(finding("^lo,eth1").level, Level::good);
  EXPECT_EQ(finding("eth").level, Level::note) << "eth1 serves for nothing";
}

TEST_F(NetworkLinks, SwitchesOfNcclAreNumbers) {
  rdma("mlx5_0");
  using Level = Finding::Level;
  for (const char* word : {"false", "no", "true"}) {
    const Finding f = about("NCCL", {{"NCCL_IB_DISABLE", word}});
    EXPECT_EQ(f.level, Level::note) << word;
    EXPECT_NE(f.text.find("NCCL takes numbers only; this is read as 0"), std::string::npos) << f.text;
  }
  for (const char* zero : {"00", "0x0", "0 "}) {
    const Finding f = about("NCCL", {{"NCCL_P2P_DISABLE", zero}});
    EXPECT_EQ(f.level, Level::note) << zero;
    EXPECT_EQ(f.text.find("numbers only"), std::string::npos) << f.text;
  }
  EXPECT_EQ(about("NCCL", {{"NCCL_IB_DISABLE", "0x1"}}).level, Level::warning);
  EXPECT_EQ(about("NCCL", {{"NCCL_SHM_DISABLE", "1"}}).level, Level::warning);
}

TEST_F(NetworkLinks, AVirtualFunctionWithoutAGuidIsNoted) {
  rdma("mlx5_0");
  rdma("mlx5_10", "400 Gb/sec (4X NDR)", "1: DOWN");
  const std::string device = "class/infiniband/mlx5_10/device/";
  EXPECT_EQ(about("mlx5_10/1").level, Finding::Level::warning) << "a card of its own: its subnet manager is missing";
  std::filesystem::create_directory_symlink("../../mlx5_0/device", sys() + "/" + device + "physfn");
  EXPECT_EQ(about("mlx5_10/1").level, Finding::Level::note);
  EXPECT_NE(about("mlx5_10/1").text.find("without a GUID"), std::string::npos) << about("mlx5_10/1").text;
  EXPECT_NE(about("mlx5_10/1").advice.find("node_guid"), std::string::npos);
  put("class/infiniband/mlx5_10/ports/1/state", "2: INIT");
  EXPECT_EQ(about("mlx5_10/1").level, Finding::Level::warning) << "it has one, and waits for the subnet manager";
  put("class/infiniband/mlx5_10/ports/1/state", "1: DOWN");
  put("class/infiniband/mlx5_0/ports/1/state", "2: INIT");
  EXPECT_EQ(about("mlx5_10/1").level, Finding::Level::warning) << "nor is the card's port up";
}

TEST_F(NetworkLinks, IwarpIsNoRoce) {
  ethernet("eth0", "100000", "1500");
  rdma("rocep49s0", "100 Gb/sec (4X EDR)", "4: ACTIVE", "Ethernet");
  put("class/infiniband/rocep49s0/ports/1/gid_attrs/ndevs/0", "eth0");
  put("class/infiniband/rocep49s0/node_type", "1: CA");
  EXPECT_EQ(network_links(sys()).back().kind, "RoCE");
  put("class/infiniband/rocep49s0/node_type", "4: RNIC");
  EXPECT_EQ(network_links(sys()).back().kind, "iWARP");
  for (const Finding& f : findings()) EXPECT_EQ(f.text.find("RoCE"), std::string::npos) << f.text;
}

TEST_F(NetworkLinks, AFunctionThatManagesSwitchesIsNoRail) {
  rdma("mlx5_0");
  rdma("mlx5_1");
  const std::string vpd = std::string("\x82\x01", 2) + std::string(1, '\0') + "CX7 V0:PCIeGen5 x2 SW_MNG";
  put("class/infiniband/mlx5_0/device/vpd", "CX7 V0:PCIeGen5 x2");
  put("class/infiniband/mlx5_0/device/max_link_width", "2");
  EXPECT_EQ(network_links(sys())[0].kind, "InfiniBand");
  put("class/infiniband/mlx5_0/device/vpd", vpd);
  put("class/infiniband/mlx5_0/device/current_link_width", "2");
  EXPECT_EQ(network_links(sys())[0].kind, kManagesSwitches);
  EXPECT_EQ(about("mlx5_0/1").level, Finding::Level::note);
  EXPECT_NE(about("mlx5_0/1").text.find("manages NVSwitches"), std::string::npos);
  EXPECT_EQ(about("mlx5_1/1").level, Finding::Level::good);
}

}  // namespace
}  // namespace headrace::system::network_links_test
