#include "harness/machine/network/rdma_place.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/base/error.h"
#include "harness/machine/pci_path.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::rdma_place_test {
namespace {

RdmaGid gid(unsigned index, RdmaGid::Kind kind, const char* address) {
  RdmaGid g{.index = index, .kind = kind, .bytes = {}, .interface = "eth2"};
  if (::inet_pton(AF_INET, address, g.bytes.data() + 12) == 1) {
    g.bytes[10] = g.bytes[11] = 0xff;
  } else {
    ::inet_pton(AF_INET6, address, g.bytes.data());
  }
  return g;
}

constexpr auto kV1 = RdmaGid::Kind::roce_v1;
constexpr auto kV2 = RdmaGid::Kind::roce_v2;

RdmaPort port(const char* device, unsigned number = 1, std::vector<RdmaGid> gids = {}) {
  RdmaPort p;
  p.device = device;
  p.number = number;
  p.ethernet = p.active = true;
  p.state = "ACTIVE";
  p.mtu = 4096;
  p.gids = std::move(gids);
  return p;
}

/// As a card with two interfaces, one of them a VLAN's, shows them.
std::vector<RdmaGid> usual() {
  return {gid(0, kV1, "fe80::1"),  gid(1, kV2, "fe80::1"), gid(2, kV1, "10.0.0.1"),
          gid(3, kV2, "10.0.0.1"), gid(4, kV2, "fd00::1"), gid(5, kV2, "192.168.7.1")};
}

template <class Error = RunError>
std::string refusal(std::span<const RdmaPort> ports, const RdmaWish& wish) {
  try {
    choose_rdma_place(ports, wish);
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was wrong";
}

TEST(RdmaPlace, TakesVersionTwoWithTheAddressThatLeadsToTheOtherEnd) {
  const std::vector ports{port("mlx5_0", 1, usual())};
  EXPECT_EQ(choose_rdma_place(ports, {.local_address = "192.168.7.1"}).gid_index, 5u);
  EXPECT_EQ(choose_rdma_place(ports, {.local_address = "::ffff:192.168.7.1"}).gid_index, 5u);
  EXPECT_EQ(choose_rdma_place(ports, {.local_address = "10.0.0.1"}).gid_index, 3u);
  EXPECT_EQ(choose_rdma_place(ports, {.local_address = "fd00::1"}).gid_index, 4u);
}

TEST(RdmaPlace, PrefersIpv4ThenGlobalThenLinkLocal) {
  std::vector ports{port("mlx5_0", 1, usual())};
  const RdmaPlace place = choose_rdma_place(ports, {.local_address = "172.16.0.1"});
  EXPECT_EQ(place.gid_index, 3u);
  EXPECT_EQ(place.words, "mlx5_0/1, GID 3 (RoCE v2, 10.0.0.1, eth2), MTU 4096");
  EXPECT_TRUE(place.notes.empty());
  ports[0].gids = {gid(0, kV1, "10.0.0.1"), gid(1, kV2, "fe80::1"), gid(2, kV2, "fd00::1")};
  EXPECT_EQ(choose_rdma_place(ports, {}).gid_index, 2u);
  ports[0].gids.pop_back();
  EXPECT_EQ(choose_rdma_place(ports, {}).gid_index, 1u);
  EXPECT_NE(choose_rdma_place(ports, {}).notes.at(0).find("link-local"), std::string::npos);
  ports[0].gids.pop_back();
  EXPECT_NE(choose_rdma_place(ports, {}).notes.at(0).find("RoCE v1"), std::string::npos);
}

TEST(RdmaPlace, FindsThePortThatHasTheAddress) {
  std::vector ports{port("mlx5_0", 1, {gid(3, kV2, "10.0.0.1")}), port("mlx5_1", 1, {gid(3, kV2, "10.0.1.1")})};
  EXPECT_EQ(choose_rdma_place(ports, {.local_address = "10.0.1.1"}).port, &ports[1]);
  EXPECT_EQ(choose_rdma_place(ports, {.local_address = "10.9.9.9"}).port, &ports[0]);
  EXPECT_EQ(choose_rdma_place(ports, {.device = "mlx5_1"}).port, &ports[1]);
  ports[0].active = false;
  EXPECT_EQ(choose_rdma_place(ports, {}).port, &ports[1]);
}

TEST(RdmaPlace, ListsExistingPorts) {
  std::vector ports{port("mlx5_0", 1, usual()), port("mlx5_0", 2)};
  EXPECT_EQ(refusal(ports, {.device = "mlx5_1"}),
            "there is no RDMA device 'mlx5_1'; did you mean 'mlx5_0'? (devices: mlx5_0)");
  EXPECT_EQ(refusal(ports, {.port = 3}), "there is no RDMA port 3: mlx5_0/1 is ACTIVE, mlx5_0/2 is ACTIVE");
  EXPECT_NE(
      refusal(ports, {.gid_index = 9}).find("mlx5_0/1: there is no GID 9; there are: 0 (RoCE v1, fe80::1, eth2), "),
      std::string::npos);
  EXPECT_NE(refusal(ports, {.port = 2}).find("mlx5_0/2: has no address"), std::string::npos);
}

TEST(RdmaPlace, SkipsWherePortsAreDownUnlessOneWasAskedFor) {
  std::vector ports{port("mlx5_0", 1, usual())};
  ports[0].active = false;
  ports[0].state = "DOWN";
  EXPECT_EQ(
      refusal<Unsupported>(ports, {}),
      "no RDMA port is active (mlx5_0/1 is DOWN): set its network interface up and look at the cable (rdma link)");
  EXPECT_EQ(refusal(ports, {.device = "mlx5_0"}),
            "RDMA port mlx5_0/1 is DOWN: set its network interface up and look at the cable (rdma link)");
  ports[0].ethernet = false;
  EXPECT_NE(refusal(ports, {.device = "mlx5_0"}).find("subnet manager"), std::string::npos);
  EXPECT_EQ(refusal<Unsupported>({}, {}), "no RDMA device");
}

TEST(RdmaPlace, InfiniBandTalksUnderItsFirst) {
  std::vector ports{
      port("mlx5_0", 1, {gid(0, RdmaGid::Kind::infiniband, "fe80::2"), gid(1, RdmaGid::Kind::infiniband, "fe80::3")})};
  ports[0].ethernet = false;
  const RdmaPlace place = choose_rdma_place(ports, {});
  EXPECT_EQ(place.gid_index, 0u);
  EXPECT_TRUE(place.notes.empty());
}

/// As a published node with eight H100 shows its ten: two of Ethernet among those of the fabric, names in no order of slots.
struct EightGpuNode : ::testing::Test {
  static RdmaPort card(const char* device, const char* slot, bool ethernet, double gbit) {
    RdmaPort p =
        port(device, 1, {gid(0, ethernet ? kV2 : RdmaGid::Kind::infiniband, ethernet ? "10.1.0.1" : "fe80::1")});
    p.ethernet = ethernet;
    p.pci_address = slot;
    p.rate = gbit * 1e9 / 8;
    return p;
  }
  std::vector<RdmaPort> ports{card("mlx5_0", "0000:19:00.0", false, 400),  card("mlx5_1", "0000:21:00.0", true, 100),
                              card("mlx5_10", "0000:cb:00.0", false, 400), card("mlx5_11", "0000:db:00.0", false, 400),
                              card("mlx5_3", "0000:3b:00.0", false, 400),  card("mlx5_4", "0000:4c:00.0", false, 400),
                              card("mlx5_5", "0000:5d:00.0", false, 400),  card("mlx5_6", "0000:9b:00.0", false, 400),
                              card("mlx5_7", "0000:a1:00.0", true, 100),   card("mlx5_9", "0000:bb:00.0", false, 400)};
  std::vector<std::string> taken(unsigned ranks, const std::string& devices = "") const {
    std::vector<std::string> names;
    for (unsigned turn = 0; turn < ranks; ++turn)
      names.push_back(choose_rdma_place(ports, {.device = devices, .turn = turn}).port->device);
    return names;
  }
  using Names = std::vector<std::string>;
};

TEST_F(EightGpuNode, RanksTakeThePortsOfTheFabricInTheOrderOfTheirSlots) {
  EXPECT_EQ(taken(8), (Names{"mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11"}));
  const RdmaPlace place = choose_rdma_place(ports, {.turn = 7});
  EXPECT_EQ(place.rail, 7u);
  ASSERT_EQ(place.notes.size(), 1u);
  EXPECT_EQ(place.notes[0],
            "not used: mlx5_1/1 (RoCE, 100 Gbit/s), mlx5_7/1 (RoCE, 100 Gbit/s), since most ports here are InfiniBand, "
            "400 Gbit/s: `device` names others");
}

TEST_F(EightGpuNode, APortThatIsDownKeepsItsRailAndIsReported) {
  ports[5].active = false;  // mlx5_4
  ports[5].state = "DOWN";
  ports[5].rate = 10e9 / 8;  // as a port without a link shows
  EXPECT_EQ(taken(7), (Names{"mlx5_0", "mlx5_3", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11"}));
  const RdmaPlace place = choose_rdma_place(ports, {.turn = 2});
  EXPECT_EQ(place.rail, 3u) << "as on nodes where all are up";
  EXPECT_EQ(place.notes.at(1).rfind("mlx5_4/1 is DOWN: look at the cable", 0), 0u) << place.notes.at(1);
}

TEST_F(EightGpuNode, AListNamesThemAsForNccl) {
  EXPECT_EQ(taken(3, "mlx5_9, =mlx5_0:1"), (Names{"mlx5_9", "mlx5_0", "mlx5_9"}));
  EXPECT_EQ(taken(2, "mlx5_1,mlx5_7"), (Names{"mlx5_1", "mlx5_7"})) << "asked for by name: whatever they are";
  EXPECT_EQ(taken(8, "^mlx5_0,mlx5_11").front(), "mlx5_3");
  EXPECT_EQ(taken(2, "mlx5_1*"), (Names{"mlx5_1", "mlx5_10"}));
  EXPECT_NE(refusal(ports, {.device = "mlx5_0,mlx5_2"}).find("there is no RDMA device 'mlx5_2'; did you mean"),
            std::string::npos);
  EXPECT_NE(refusal(ports, {.device = "mlx5_0:2"}).find("there is no RDMA port by device: mlx5_0:2"),
            std::string::npos);
  EXPECT_NE(refusal(ports, {.device = "^mlx5_*"}).find("there is no RDMA port"), std::string::npos);
}

TEST_F(EightGpuNode, TheMajorityIsOfThoseThatAreActive) {
  for (RdmaPort& p : ports) p.active = p.ethernet;
  EXPECT_EQ(taken(2), (Names{"mlx5_1", "mlx5_7"}));
}

TEST(RdmaPlace, WithoutReliableConnectionsIsSkipped) {
  std::vector ports{port("rdmap0s6", 1, usual())};
  ports[0].unusable = "it has no reliable connections (RC)";
  EXPECT_EQ(refusal<Unsupported>(ports, {}), "rdmap0s6/1: it has no reliable connections (RC)");
  EXPECT_EQ(refusal<Unsupported>(ports, {.device = "rdmap0s6"}), "rdmap0s6/1: it has no reliable connections (RC)");
  ports.push_back(port("mlx5_0", 1, usual()));
  EXPECT_EQ(choose_rdma_place(ports, {}).port, &ports[1]);
}

TEST(RdmaPlace, FindsAPartitionByItsKey) {
  std::vector ports{port("mlx5_0", 1, usual())};
  ports[0].partitions = {0xffff, 0, 0x8001, 0x0002};
  EXPECT_EQ(choose_rdma_place(ports, {}).partition_index, 0u);
  EXPECT_EQ(choose_rdma_place(ports, {.partition = 0x8001}).partition_index, 2u);
  EXPECT_EQ(choose_rdma_place(ports, {.partition = 0x8002}).partition_index, 3u) << "a limited member of it";
  EXPECT_EQ(refusal(ports, {.partition = 0x8003}),
            "mlx5_0/1: is in no partition 0x8003; it is in: 0xffff, 0x8001, 0x0002 (the subnet manager's "
            "partitions.conf)");
}

/// Two switches with a card and two GPUs each, and a GPU at another root complex.
struct PciTree : ::testing::Test {
  void SetUp() override {
    const std::string left = "pci0000:15/0000:15:01.0/0000:16:00.0/", right = "pci0000:15/0000:15:05.0/0000:26:00.0/";
    put(left + "0000:17:00.0/0000:18:00.0");
    put(left + "0000:17:01.0/0000:19:00.0");
    put(left + "0000:17:02.0/0000:1a:00.0");
    put(right + "0000:27:00.0/0000:28:00.0");
    put(right + "0000:27:01.0/0000:29:00.0");
    put(right + "0000:27:02.0/0000:2a:00.0");
    put("pci0000:97/0000:97:01.0/0000:98:00.0");
  }
  void put(const std::string& path) {
    namespace fs = std::filesystem;
    const fs::path devices = root() + "/sys/bus/pci/devices", whole = root() + "/sys/devices/" + path;
    fs::create_directories(devices);
    fs::create_directories(whole);
    fs::create_directory_symlink(whole, devices / whole.filename());
  }
  std::string root() const { return folder.path(); }
  std::size_t nearest(const std::vector<std::string>& ports) const { return nearest_gpu(ports, gpus, root()); }
  testing::TemporaryFolder folder;
  const std::string left = "0000:18:00.0", right = "0000:28:00.0";
  const std::vector<std::string> gpus{"0000:98:00.0", "0000:19:00.0", "0000:29:00.0", "0000:1a:00.0", "0000:2a:00.0"};
};

TEST_F(PciTree, EachPortHasTheGpuBehindTheSameSwitch) {
  EXPECT_EQ(nearest({left}), 1u);
  EXPECT_EQ(nearest({right}), 2u);
  EXPECT_EQ(nearest({left, right, left}), 3u) << "another rank has the first of those as near";
  EXPECT_EQ(nearest({left, right, left, right}), 4u);
  EXPECT_EQ(nearest({left, left, left}), 1u) << "far ones are for nobody";
}

TEST_F(PciTree, WithoutKernelReportsRanksShareThemOut) {
  EXPECT_EQ(nearest({""}), 0u);
  EXPECT_EQ(nearest({"", "", ""}), 2u);
}

TEST_F(PciTree, AProcessThatSeesOneGpuTakesThePortNearIt) {
  std::vector ports{port("mlx5_0", 1, usual()), port("mlx5_1", 1, usual())};
  ports[0].pci_address = left;
  ports[1].pci_address = right;
  const RdmaWish wish{.near = system::pci_path("0000:2a:00.0", root()), .sys_root = root()};
  EXPECT_EQ(choose_rdma_place(ports, wish).port, &ports[1]);
}

}  // namespace
}  // namespace headrace::rdma_place_test
