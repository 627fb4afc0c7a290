// How dynamically connected queue pairs are asked for and posted to, with libraries of the test: no card is there.
#include <gtest/gtest.h>

#ifdef HEADRACE_HAS_MLX5

#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "harness/backends/verbs/dynamic.h"
#include "harness/base/error.h"
#include "tests/unit/fakes/mlx5.h"

#undef ibv_reg_mr

namespace {
headrace::testing::FakeMlx5* fake = nullptr;

struct Request {
  std::string kind;
  unsigned flags = 0;
  std::uint64_t id = 0, remote = 0, length = 0;
  std::uint32_t key = 0;
};
struct {
  std::vector<std::pair<ibv_qp_attr, int>> changes;
  std::vector<Request> requests;
  unsigned completed = 0, receives = 0;
  std::uint64_t received_as = 0;
  ibv_wc arrives{};
} asked;

ibv_qp_ex requests;
Request& next(ibv_qp_ex* of, const char* kind) {
  fake->posted.emplace_back();
  Request& request = asked.requests.emplace_back();
  request.kind = kind;
  request.id = of->wr_id;
  request.flags = of->wr_flags;
  return request;
}
void start(ibv_qp_ex*) {}
int complete(ibv_qp_ex*) { return ++asked.completed, 0; }
void write(ibv_qp_ex* of, std::uint32_t key, std::uint64_t remote) {
  Request& request = next(of, "write");
  request.key = key;
  request.remote = remote;
}
void read(ibv_qp_ex* of, std::uint32_t key, std::uint64_t remote) {
  write(of, key, remote);
  asked.requests.back().kind = "read";
}
void send(ibv_qp_ex* of) { next(of, "send"); }
void part(ibv_qp_ex*, std::uint32_t, std::uint64_t, std::uint32_t length) { asked.requests.back().length = length; }
void parts(ibv_qp_ex*, std::size_t, const ibv_sge*) {}
int post_receive(ibv_srq*, ibv_recv_wr* wanted, ibv_recv_wr**) {
  ++asked.receives;
  asked.received_as = wanted->wr_id;
  return 0;
}
int poll_queue(ibv_cq*, int, ibv_wc* found) { return *found = asked.arrives, 1; }
ibv_context& device() {
  static ibv_context context;
  context.ops.post_srq_recv = post_receive;
  context.ops.poll_cq = poll_queue;
  return context;
}
}  // namespace

extern "C" {
ibv_pd* ibv_alloc_pd(ibv_context*) {
  static ibv_pd domain;
  return &domain;
}
int ibv_dealloc_pd(ibv_pd*) { return 0; }
ibv_cq* ibv_create_cq(ibv_context*, int, void*, ibv_comp_channel*, int) {
  static ibv_cq queue;
  queue.context = &device();
  return &queue;
}
int ibv_destroy_cq(ibv_cq*) { return 0; }
ibv_qp* ibv_create_qp(ibv_pd*, ibv_qp_init_attr*) { return nullptr; }
int ibv_destroy_qp(ibv_qp*) { return 0; }
ibv_srq* ibv_create_srq(ibv_pd*, ibv_srq_init_attr*) {
  static ibv_srq queue;
  queue.context = &device();
  return &queue;
}
int ibv_destroy_srq(ibv_srq*) { return 0; }
ibv_ah* ibv_create_ah(ibv_pd*, ibv_ah_attr*) {
  static ibv_ah handle;
  return &handle;
}
int ibv_destroy_ah(ibv_ah*) { return 0; }
int ibv_modify_qp(ibv_qp* queue, ibv_qp_attr* attributes, int mask) {
  asked.changes.emplace_back(*attributes, mask);
  if (attributes->qp_state == IBV_QPS_RTR && queue->qp_num == 0) queue->qp_num = 400 + unsigned(asked.changes.size());
  return 0;
}
ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp*) {
  requests.wr_start = start;
  requests.wr_complete = complete;
  requests.wr_rdma_write = write;
  requests.wr_rdma_read = read;
  requests.wr_send = send;
  requests.wr_set_sge = part;
  requests.wr_set_sge_list = parts;
  return &requests;
}
ibv_mr* ibv_reg_mr(ibv_pd*, void*, size_t, int) { return nullptr; }
ibv_mr* ibv_reg_mr_iova2(ibv_pd*, void*, size_t, uint64_t, unsigned int) { return nullptr; }
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, uint64_t, size_t, uint64_t, int, int) { return nullptr; }
int ibv_dereg_mr(ibv_mr*) { return 0; }
int ibv_close_device(ibv_context*) { return 0; }
const char* ibv_wc_status_str(ibv_wc_status) { return "status"; }
}

namespace headrace::verbs::verbs_dynamic_test {
namespace {

struct DynamicEndpoint : ::testing::Test {
  void SetUp() override {
    void* library = ::dlopen("libmlx5.so.1", RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
    fake = static_cast<testing::FakeMlx5*>(::dlsym(library, "fake_mlx5"));
    ASSERT_NE(fake, nullptr) << "another libmlx5.so.1 is in the way";
    *fake = {};
    asked = {};
  }
  static std::unique_ptr<RdmaEndpoint> open(unsigned queue_pairs = 2) {
    RdmaPort port;
    port.device = "mlx5_0";
    port.mtu = port.most_mtu = 4096;
    port.most_reads = 16;
    port.gids = {RdmaGid{}};
    return make_dynamic_endpoint(Device(&device(), [](ibv_context*) {}), port,
                                 {.transport = RdmaTransport::dynamic, .queue_pairs = queue_pairs});
  }
};

TEST_F(DynamicEndpoint, HasAnInitiatorAndATargetForEachQueuePair) {
  const auto end = open();
  ASSERT_EQ(fake->made.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& made = fake->made[i];
    EXPECT_EQ(made.wanted.qp_type, IBV_QPT_DRIVER);
    const bool initiator = i % 2 == 0;
    EXPECT_EQ(made.dynamic.comp_mask, std::uint64_t{MLX5DV_QP_INIT_ATTR_MASK_DC} |
                                          (initiator ? std::uint64_t{MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS} : 0));
    EXPECT_EQ(made.dynamic.create_flags, initiator ? std::uint32_t{MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE} : 0u)
        << "what is read would lie in completions, and never in memory";
    EXPECT_EQ(made.dynamic.dc_init_attr.dc_type, initiator ? MLX5DV_DCTYPE_DCI : MLX5DV_DCTYPE_DCT);
    EXPECT_EQ(made.wanted.srq != nullptr, i % 2 == 1);
  }
  // What the driver wants of a target: it has its number only then, and that is what the other end receives.
  const auto& [target, mask] = asked.changes.at(2);
  EXPECT_EQ(target.qp_state, IBV_QPS_RTR);
  EXPECT_EQ(mask, IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER);
  EXPECT_EQ(end->address().queue_pairs, (std::vector<std::uint32_t>{fake->queues[1].qp_num, fake->queues[3].qp_num}));
  EXPECT_NE(end->address().queue_pairs[0], 0u);
}

TEST_F(DynamicEndpoint, EachRequestNamesItsTarget) {
  const auto end = open();
  RdmaAddress other = end->address();
  other.queue_pairs = {501, 502};
  end->connect(other);
  const RdmaWork work[] = {{.op = RdmaOp::write, .length = 8, .remote_key = 7, .remote = 64, .id = 1},
                           {.op = RdmaOp::read, .signaled = false, .length = 16, .remote = 128, .id = 2},
                           {.op = RdmaOp::send, .length = 0, .id = 3}};
  ASSERT_EQ(end->post(1, work), 0);
  EXPECT_EQ(asked.completed, 1u) << "one call for all of them";
  ASSERT_EQ(asked.requests.size(), 3u);
  EXPECT_EQ(asked.requests[0].kind + asked.requests[1].kind + asked.requests[2].kind, "writereadsend");
  EXPECT_EQ(asked.requests[0].key, 7u);
  EXPECT_EQ(asked.requests[1].length, 16u);
  EXPECT_EQ(asked.requests[0].flags, unsigned{IBV_SEND_SIGNALED});
  EXPECT_EQ(asked.requests[1].flags, 0u);
  for (const auto& posted : fake->posted) {
    EXPECT_EQ(posted.number, 502u);
    EXPECT_EQ(posted.key, fake->made[1].dynamic.dc_init_attr.dct_access_key);
    EXPECT_NE(posted.way, nullptr);
  }
  EXPECT_EQ(end->receive(1, nullptr, 0, 0, 5), 0);
  EXPECT_EQ(asked.receives, 1u);
  RdmaCompletion done;
  asked.arrives.qp_num = 12345;  // whatever the card says of a target's
  for (const auto& [tag, id] : {std::pair(asked.received_as, 5u), std::pair(asked.requests[2].id, 3u)}) {
    asked.arrives.wr_id = tag;
    ASSERT_EQ(end->poll_received({&done, 1}), 1);
    EXPECT_EQ(done.queue, 1u);
    EXPECT_EQ(done.id, id);
  }
}

TEST_F(DynamicEndpoint, ABondCountsWhereTheCardRunsIt) {
  const Device card(&device(), [](ibv_context*) {});
  EXPECT_EQ(lag_legs(card), 0u) << "one port";
  fake->lag_ports = 2;
  EXPECT_EQ(lag_legs(card), 0u) << "two ports, each on its own";
  fake->lag_state = 1;
  EXPECT_EQ(lag_legs(card), 2u);
  fake->lag_ports = 4;
  EXPECT_EQ(lag_legs(card), 4u);
  fake->mode = 2;
  EXPECT_EQ(lag_legs(card), 0u) << "ports that share a switch, and stay devices of their own";
  fake->mode = 1;
  fake->refuses_commands = EOPNOTSUPP;
  EXPECT_EQ(lag_legs(card), 0u);
  fake->refuses_commands = 0;
  fake->supported = false;
  EXPECT_EQ(lag_legs(card), 0u) << "of another driver";
}

TEST_F(DynamicEndpoint, OtherCardsHaveNone) {
  const auto describe = [] {
    try {
      open();
    } catch (const Unsupported& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  fake->supported = false;
  EXPECT_EQ(describe(), "transport: dc: mlx5_0/1 is no card of the mlx5 driver: only those have it");
  fake->supported = true;
  fake->refuses = EOPNOTSUPP;
  EXPECT_EQ(describe(), "transport: dc: mlx5_0/1 does not have it");
  fake->refuses = ENOMEM;
  EXPECT_THROW(open(), RunError);
}

}  // namespace
}  // namespace headrace::verbs::verbs_dynamic_test

#else
TEST(DynamicEndpoint, NeedsTheHeadersOfMlx5) { GTEST_SKIP() << "built without mlx5dv.h"; }
#endif
