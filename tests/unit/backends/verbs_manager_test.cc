// How connections are made by the kernel's connection manager, with a librdmacm of the test: no device is there.
#include <gtest/gtest.h>

#ifdef HEADRACE_HAS_RDMACM

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "harness/backends/verbs/manager.h"
#include "tests/unit/failure_of.h"
#include "tests/unit/fakes/rdmacm.h"

namespace {
std::vector<ibv_qp_attr> changes;
}

extern "C" {
int ibv_modify_qp(ibv_qp*, ibv_qp_attr* attributes, int) {
  changes.push_back(*attributes);
  return 0;
}
const char* ibv_wc_status_str(ibv_wc_status) { return "status"; }
}

namespace headrace::verbs::verbs_manager_test {
namespace {

struct ManagedConnections : ::testing::Test {
  void SetUp() override {
    void* library = ::dlopen("librdmacm.so.1", RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
    fake = static_cast<testing::FakeRdmaCm*>(::dlsym(library, "fake_rdmacm"));
    ASSERT_NE(fake, nullptr) << "another librdmacm.so.1 is in the way";
    *fake = {};
    changes.clear();
  }
  void TearDown() override {
    EXPECT_EQ(fake->made, fake->destroyed) << "identifiers";
    EXPECT_EQ(fake->reported, fake->acknowledged) << "an event that is not acknowledged keeps its identifier for ever";
    EXPECT_EQ(fake->channels, 0);
  }
  static RdmaPort port() {
    RdmaPort port;
    port.device = "mlx5_0";
    port.ethernet = true;
    port.gids = {{.index = 3,
                  .kind = RdmaGid::Kind::roce_v2,
                  .bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10},
                  .interface = ""}};
    return port;
  }
  static std::unique_ptr<ConnectionManager> manager() { return make_connection_manager(port(), 3); }
  unsigned connect(ConnectionManager& manager, bool asks) {
    std::vector<ManagedPair> pairs;
    for (unsigned i = 0; i < queues.size(); ++i) {
      queues[i].qp_num = 100 + i;
      pairs.push_back({&queues[i], 200 + i});
    }
    return manager.connect(pairs, {}, asks, {.reads = 16, .mtu = 4096, .traffic_class = 104, .timeout = 14});
  }
  /// Who asks for queue pair `queue`.
  void ask(std::uint32_t queue, std::uint32_t magic = 0x68656164) const {
    std::vector<unsigned char> word(56);  // as the kernel hands it on: whole, with zeros behind
    std::memcpy(word.data(), &magic, sizeof magic);
    std::memcpy(word.data() + sizeof magic, &queue, sizeof queue);
    fake->events.push_back({RDMA_CM_EVENT_CONNECT_REQUEST, fake->stranger(), word});
  }
  testing::FakeRdmaCm* fake = nullptr;
  std::array<ibv_qp, 2> queues{};
};

TEST_F(ManagedConnections, AreAskedForEachByItsOwnName) {
  const auto own = manager();
  EXPECT_EQ(own->service(), 4242);
  EXPECT_EQ(connect(*own, true), 1024u) << "the route's";
  ASSERT_EQ(fake->asked.size(), 2u);
  EXPECT_EQ(fake->asked[1].qp_num, 101u);
  EXPECT_EQ(fake->asked[1].rnr_retry_count, 7);
  std::uint32_t wanted = 0;
  ASSERT_EQ(fake->words[1].size(), 8u);
  std::memcpy(&wanted, fake->words[1].data() + 4, sizeof wanted);
  EXPECT_EQ(wanted, 201u);
  EXPECT_EQ(fake->services, (std::vector<std::uint8_t>{104, 104}));
  const auto at = [&](const char* call) { return std::find(fake->calls.begin(), fake->calls.end(), call); };
  EXPECT_LT(at("set_option"), at("resolve_route")) << "the route is found for it";
}

/// What the kernel leaves at 0 stands for two thirds of a second.
TEST_F(ManagedConnections, AReceiverThatIsLateIsTriedAgainSoon) {
  connect(*manager(), true);
  unsigned receiving = 0;
  for (const ibv_qp_attr& a : changes) {
    if (a.qp_state != IBV_QPS_RTR) continue;
    ++receiving;
    EXPECT_EQ(a.min_rnr_timer, 12);
    EXPECT_EQ(a.path_mtu, IBV_MTU_1024);
  }
  EXPECT_EQ(receiving, 2u);
}

TEST_F(ManagedConnections, AreAnsweredInAnyOrder) {
  const auto own = manager();
  ask(101);
  ask(7, 0x12345678);  // of another program
  ask(100);
  connect(*own, false);
  ASSERT_EQ(fake->accepted.size(), 2u);
  EXPECT_EQ(fake->accepted[0].qp_num, 100u);
  EXPECT_EQ(fake->accepted[1].qp_num, 101u);
}

TEST_F(ManagedConnections, GiveEverythingBackAfterAnyFailure) {
  for (const char* call : {"create_id", "bind_addr", "listen"}) {
    fake->fails = call;
    EXPECT_NE(testing::failure_of([] { manager(); }).find("mlx5_0/1: connect: rdma_cm: "), std::string::npos) << call;
    TearDown();
  }
  for (const char* call : {"resolve_addr", "resolve_route", "set_option", "connect", "init_qp_attr", "establish"}) {
    *fake = {};
    {
      const auto own = manager();
      fake->fails = call;
      EXPECT_NE(testing::failure_of([&] { connect(*own, true); }).find("mlx5_0/1: connect: rdma_cm: "),
                std::string::npos)
          << call;
    }
    TearDown();
  }
  *fake = {};
  const auto own = manager();
  ask(100);
  fake->fails = "accept";
  EXPECT_NE(testing::failure_of([&] { connect(*own, false); }).find("accept a connection"), std::string::npos);
}

TEST_F(ManagedConnections, RefusedOnesAreReported) {
  fake->answer = RDMA_CM_EVENT_REJECTED;
  const auto own = manager();
  const std::string reported = testing::failure_of([&] { connect(*own, true); });
  EXPECT_NE(reported.find("what happened"), std::string::npos) << reported;
}

/// One device may have two ports, and an address leads to one of them.
TEST_F(ManagedConnections, AreOfTheirOwnPort) {
  fake->port = 2;
  EXPECT_EQ(testing::failure_of([] { manager(); }), "mlx5_0/1: connect: rdma_cm: its IP address leads to mlx5_0/2");
  fake->port = 1;
  fake->device = "mlx5_1";
  EXPECT_EQ(testing::failure_of([] { manager(); }), "mlx5_0/1: connect: rdma_cm: its IP address leads to mlx5_1/1");
  fake->device = "";
  EXPECT_EQ(testing::failure_of([] { manager(); }),
            "mlx5_0/1: connect: rdma_cm: its IP address leads to no RDMA device");
}

}  // namespace
}  // namespace headrace::verbs::verbs_manager_test

#else
TEST(ManagedConnections, NeedTheHeadersOfLibrdmacm) { GTEST_SKIP() << "built without librdmacm's headers"; }
#endif
