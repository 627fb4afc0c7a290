#include "harness/network/rdma_place.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "harness/base/error.h"

namespace headrace {
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
  EXPECT_EQ(place.warning, "");
  ports[0].gids = {gid(0, kV1, "10.0.0.1"), gid(1, kV2, "fe80::1"), gid(2, kV2, "fd00::1")};
  EXPECT_EQ(choose_rdma_place(ports, {}).gid_index, 2u);
  ports[0].gids.pop_back();
  EXPECT_EQ(choose_rdma_place(ports, {}).gid_index, 1u);
  EXPECT_NE(choose_rdma_place(ports, {}).warning.find("link-local"), std::string::npos);
  ports[0].gids.pop_back();
  EXPECT_NE(choose_rdma_place(ports, {}).warning.find("RoCE v1"), std::string::npos);
}

TEST(RdmaPlace, FindsThePortThatHasTheAddress) {
  std::vector ports{port("mlx5_0", 1, {gid(3, kV2, "10.0.0.1")}), port("mlx5_1", 1, {gid(3, kV2, "10.0.1.1")})};
  EXPECT_EQ(choose_rdma_place(ports, {.local_address = "10.0.1.1"}).port, &ports[1]);
  EXPECT_EQ(choose_rdma_place(ports, {.local_address = "10.9.9.9"}).port, &ports[0]);
  EXPECT_EQ(choose_rdma_place(ports, {.device = "mlx5_1"}).port, &ports[1]);
  ports[0].active = false;
  EXPECT_EQ(choose_rdma_place(ports, {}).port, &ports[1]);
}

TEST(RdmaPlace, SaysWhatThereIs) {
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
  EXPECT_EQ(place.warning, "");
}

}  // namespace
}  // namespace headrace
