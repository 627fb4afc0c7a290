// Ports of a made-up /sys, each plug once; how many count; and what the workload makes of them.
#include "harness/machine/network/network_ports.h"

#include <filesystem>

#include "tests/unit/made_up_ports.h"
#include "tests/unit/thread_ranks.h"
#include "tests/unit/workload_runner.h"

namespace headrace::testing::network_ports_test {
namespace {

class NetworkPorts : public MadeUpPorts {
 protected:
  std::string names() const {
    std::string all;
    for (const NetworkPort& port : network_ports(sys())) all += (all.empty() ? "" : " ") + port.name;
    return all;
  }
  void link(const std::string& from, const std::string& to) {
    std::filesystem::create_directories((std::filesystem::path(sys()) / from).parent_path());
    std::filesystem::remove_all(std::filesystem::path(sys()) / from);
    std::filesystem::create_directory_symlink(std::filesystem::path(sys()) / to, std::filesystem::path(sys()) / from);
  }
};

TEST_F(NetworkPorts, AreThoseOfRdmaWhereThereAreAny) {
  EXPECT_EQ(names(), "");
  ethernet("eth0");
  ethernet("eth1", "10000");
  EXPECT_EQ(names(), "eth0 eth1");
  rdma("mlx5_0");
  rdma("mlx5_1", "400 Gb/sec (4X NDR)", "1: DOWN");
  EXPECT_EQ(names(), "mlx5_0/1 mlx5_1/1");
  const auto ports = network_ports(sys());
  EXPECT_TRUE(ports[0].up && ports[0].rdma && !ports[1].up);
  EXPECT_EQ(ports[0].rate, 50e9);
}

TEST_F(NetworkPorts, NothingWithoutACardCounts) {
  ethernet("eth0");
  put("class/net/docker0/type", "1");
  put("class/net/docker0/operstate", "up");
  put("class/net/docker0/speed", "10000");
  put("class/infiniband/rxe0/ports/1/state", "4: ACTIVE");  // soft-RoCE: no device, a made-up rate
  put("class/infiniband/rxe0/ports/1/rate", "2.5 Gb/sec (1X SDR)");
  EXPECT_EQ(names(), "eth0");
}

TEST_F(NetworkPorts, APlugCountsOnce) {
  ethernet("eth0");
  card("devices/0000:01:00.0");
  card("devices/0000:01:00.1");
  card("devices/0000:01:02.0");
  link("class/net/eth0/device", "devices/0000:01:00.0");
  ethernet("eth1");  // the card's second plug
  link("class/net/eth1/device", "devices/0000:01:00.1");
  ethernet("eth0v0");  // a virtual function of the first
  link("devices/0000:01:02.0/physfn", "devices/0000:01:00.0");
  link("class/net/eth0v0/device", "devices/0000:01:02.0");
  ethernet("eth0_0");  // that function's other end, in the card's own switch
  link("class/net/eth0_0/device", "devices/0000:01:00.0");
  EXPECT_EQ(names(), "eth0 eth1");
  put("class/net/eth0_0/dev_port", "1");  // a function with two plugs
  EXPECT_EQ(names(), "eth0 eth0_0 eth1");
  rdma("mlx5_0", "100 Gb/sec (4X EDR)", "4: ACTIVE", "Ethernet");
  link("class/infiniband/mlx5_0/device", "devices/0000:01:00.0");
  put("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0");
  rdma("mlx5_2", "100 Gb/sec (4X EDR)", "4: ACTIVE", "Ethernet");
  link("class/infiniband/mlx5_2/device", "devices/0000:01:02.0");
  put("class/infiniband/mlx5_2/ports/1/gid_attrs/ndevs/0", "eth0v0");
  EXPECT_EQ(names(), "mlx5_0/1");
}

TEST_F(NetworkPorts, TheActiveInterfaceOfAPlugReports) {
  card("devices/0000:01:00.0");
  for (const char* name : {"eth0", "eth1"}) {
    ethernet(name);
    link(std::string("class/net/") + name + "/device", "devices/0000:01:00.0");
  }
  put("class/net/eth0/operstate", "down");
  EXPECT_EQ(names(), "eth1");
}

/// Drivers of Omni-Path give all cards of a host one GUID.
TEST_F(NetworkPorts, CardsOfOmniPathCountByTheirPlaces) {
  for (const char* const driver : {"hfi1", "ib_qib"}) {
    for (const std::string i : {"0", "1"}) {
      card("devices/0000:1" + i + ":00.0");
      link("devices/0000:1" + i + ":00.0/driver", std::string("drivers/") + driver);
      rdma("hfi1_" + i);
      link("class/infiniband/hfi1_" + i + "/device", "devices/0000:1" + i + ":00.0");
      put("class/infiniband/hfi1_" + i + "/sys_image_guid", "0011:7501:0171:b0c5");
    }
    EXPECT_EQ(names(), "hfi1_0/1 hfi1_1/1") << driver;
  }
}

/// Both ports of a card that is passed to a virtual machine are function 0 there; so is one port with two attachments.
TEST_F(NetworkPorts, PortsOfOneCardHaveNumbers) {
  for (const std::string i : {"0", "1"}) {
    card("devices/0000:0" + i + ":00.0");
    ethernet("enp" + i + "s0np" + i);
    link("class/net/enp" + i + "s0np" + i + "/device", "devices/0000:0" + i + ":00.0");
    rdma("mlx5_" + i, "100 Gb/sec (4X EDR)", "4: ACTIVE", "Ethernet");
    link("class/infiniband/mlx5_" + i + "/device", "devices/0000:0" + i + ":00.0");
    put("class/infiniband/mlx5_" + i + "/sys_image_guid", "b83f:d203:00aa:1234");
    put("class/infiniband/mlx5_" + i + "/ports/1/gid_attrs/ndevs/0", "enp" + i + "s0np" + i);
  }
  EXPECT_EQ(names(), "mlx5_0/1 mlx5_1/1");
  put("class/net/enp1s0np1/phys_port_name", "p0");
  EXPECT_EQ(names(), "mlx5_0/1");
  put("class/net/enp0s0np0/phys_port_name", "p1");
  EXPECT_EQ(names(), "mlx5_0/1 mlx5_1/1");
  put("class/net/enp1s0np1/phys_port_name", "pf0vf3");  // a representor's
  put("class/net/enp0s0np0/phys_port_name", "p1");
  EXPECT_EQ(names(), "mlx5_0/1") << "its name ends in np1";
}

TEST_F(NetworkPorts, FunctionsThatManageSwitchesDoNotCount) {
  rdma("mlx5_0");
  rdma("mlx5_1");
  put("class/infiniband/mlx5_0/device/max_link_width", "2");
  EXPECT_EQ(names(), "mlx5_0/1 mlx5_1/1");
  put("class/infiniband/mlx5_0/device/vpd", "SW_MNG");
  EXPECT_EQ(names(), "mlx5_1/1");
}

const NetworkPort kFast{"mlx5_0/1", true, true, 50e9}, kSlow{"mlx5_1/1", true, true, 12.5e9},
    kDown{"mlx5_2/1", true, false, 50e9}, kVirtual{"eth0", false, true, 0};

TEST(PortCount, IsOfTheNodeWithTheFewest) {
  const std::vector<NodePorts> nodes{
      {"a", {kFast, kFast, kDown}}, {"b", {kFast, kSlow, kFast}}, {"c", {kFast, kDown, kSlow}}};
  PortCount c = count_ports(nodes, 50e9);
  EXPECT_EQ(c.fewest, 1u);
  EXPECT_EQ(c.unknown, "");
  EXPECT_EQ(c.do_not_count,
            "a: mlx5_2/1 is down; b: mlx5_1/1 runs at 100 Gbit/s; c: mlx5_2/1 is down, mlx5_1/1 runs at 100 Gbit/s");
  EXPECT_EQ(count_ports(nodes, 12.5e9).fewest, 2u);
  EXPECT_EQ(count_ports(nodes, 100e9).fewest, 0u);
  EXPECT_EQ(count_ports(std::vector<NodePorts>{{"a", {kDown}}}, 0).fewest, 0u);
}

TEST(PortCount, WithoutARateIsAsTheFastest) {
  const std::vector<NodePorts> nodes{{"a", {kSlow, kSlow}}, {"b", {kFast, kSlow}}};
  EXPECT_EQ(count_ports(nodes, 0).rate, 50e9);
  EXPECT_EQ(count_ports(nodes, 0).fewest, 0u);  // a has none such
  EXPECT_EQ(count_ports(std::span(nodes).first(1), 0).fewest, 2u);
}

TEST(PortCount, IsNotKnownWhereARateIsNotReported) {
  EXPECT_EQ(count_ports(std::vector<NodePorts>{{"a", {kFast}}, {"b", {kFast, kVirtual}}}, 50e9).unknown,
            "the rate of eth0 of b is not reported, as with virtual cards");
  EXPECT_NE(count_ports(std::vector<NodePorts>{{"a", {}}}, 50e9).unknown.find("a shows no port"), std::string::npos);
  NetworkPort down = kVirtual;
  down.up = false;
  EXPECT_EQ(count_ports(std::vector<NodePorts>{{"a", {kFast, down}}}, 50e9).unknown, "");
}

/// On this machine as it is: a number, or why there is none; the same on every rank.
TEST(NetworkPortsWorkload, CountsOrSaysWhyNot) {
  std::vector<std::map<std::string, double>> reported(2);
  std::vector<std::string> whys(2);
  on_ranks({"a", "b"}, 10, [&](std::unique_ptr<Ranks> own) {
    const unsigned rank = own->rank();
    WorkloadRunner runner("network_ports", "{nic_rate: 1B/s}");
    runner.node().join(std::shared_ptr<Ranks>(std::move(own)));
    runner.node().set_team({0, 1});
    ASSERT_FALSE(runner.check());
    runner.prepare();
    runner.repeat();
    reported[rank] = runner.metrics;
    whys[rank] = runner->why_missing("nics");
    EXPECT_EQ(runner.as<ReportsFacts>().facts().front().first, "ports");
    runner.node().ranks().barrier("the end", 10);
  });
  const auto ports = network_ports();
  const bool known = !ports.empty() &&
                     std::none_of(ports.begin(), ports.end(), [](const NetworkPort& p) { return p.up && p.rate == 0; });
  const auto up = std::count_if(ports.begin(), ports.end(), [](const NetworkPort& p) { return p.up; });
  for (unsigned rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(whys[rank].empty(), known) << whys[rank];
    EXPECT_EQ(reported[rank].contains("nics"), known);
    EXPECT_TRUE(!known || reported[rank].at("nics") == static_cast<double>(up));
  }
  EXPECT_EQ(whys[0], whys[1]);
}

TEST(NetworkPortsWorkload, RefusesInvalidRates) {
  EXPECT_NE(problems_of("network_ports", "nic_rate: 400MiB\n").find("network_ports: nic_rate: '400MiB'"),
            std::string::npos)
      << problems_of("network_ports", "nic_rate: 400MiB\n");
  EXPECT_EQ(problems_of("network_ports", "nic_rate: 400Gbit/s\n"), "");
}

}  // namespace
}  // namespace headrace::testing::network_ports_test
