// How queue pairs and memory are asked for, with functions of the test instead of libibverbs': no device is there.
#include <gtest/gtest.h>

#ifdef HEADRACE_HAS_VERBS

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "harness/backends/verbs/endpoint.h"
#include "harness/backends/verbs/ports.h"
#include "harness/base/error.h"

#undef ibv_reg_mr

namespace {
/// What was asked of the library.
struct Asked {
  std::vector<ibv_qp_attr> init, receive, send;  // of each queue pair, by the state that it was put in
  std::vector<std::uint32_t> given_up;           // queue pairs' numbers
  std::vector<unsigned> access;                  // of each memory
  std::vector<ibv_qp_init_attr> made;
  std::vector<ibv_ah_attr> ways;
  std::vector<ibv_send_wr> posted;
  std::vector<ibv_sge> received;  // of the last receive, a part each
  std::uint64_t received_as = 0;  // its id
  std::vector<int> rooms;         // of each completion queue
  ibv_wc arrives{};               // at the next poll
} asked;

int post_send(ibv_qp*, ibv_send_wr* first, ibv_send_wr**) {
  for (const ibv_send_wr* w = first; w; w = w->next) asked.posted.push_back(*w);
  return 0;
}
int post_receive(ibv_qp*, ibv_recv_wr* wanted, ibv_recv_wr**) {
  asked.received.assign(wanted->sg_list, wanted->sg_list + wanted->num_sge);
  asked.received_as = wanted->wr_id;
  return 0;
}
int poll_queue(ibv_cq*, int, ibv_wc* found) {
  *found = asked.arrives;
  return 1;
}
ibv_context& device() {
  static ibv_context context;
  context.ops.post_send = post_send;
  context.ops.post_recv = post_receive;
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
ibv_cq* ibv_create_cq(ibv_context*, int entries, void*, ibv_comp_channel*, int) {
  static ibv_cq queue;
  asked.rooms.push_back(entries);
  queue.context = &device();
  return &queue;
}
int ibv_destroy_cq(ibv_cq*) { return 0; }
ibv_qp* ibv_create_qp(ibv_pd*, ibv_qp_init_attr* wanted) {
  static std::array<ibv_qp, 16> queues;
  asked.made.push_back(*wanted);
  ibv_qp& queue = queues.at(asked.made.size() - 1);
  queue.qp_num = static_cast<std::uint32_t>(100 + asked.made.size());
  queue.context = &device();
  return &queue;
}
int ibv_destroy_qp(ibv_qp*) { return 0; }
int ibv_modify_qp(ibv_qp* queue, ibv_qp_attr* attributes, int) {
  if (attributes->qp_state == IBV_QPS_RESET) {
    asked.given_up.push_back(queue->qp_num);
    return 0;
  }
  (attributes->qp_state == IBV_QPS_INIT  ? asked.init
   : attributes->qp_state == IBV_QPS_RTR ? asked.receive
                                         : asked.send)
      .push_back(*attributes);
  return 0;
}
ibv_mr* ibv_reg_mr(ibv_pd*, void*, size_t length, int access) {
  asked.access.push_back(static_cast<unsigned>(access));
  return new ibv_mr{nullptr, nullptr, nullptr, length, 0, 1, 2};
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* begin, size_t length, uint64_t, unsigned int access) {
  return ibv_reg_mr(domain, begin, length, static_cast<int>(access));
}
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* domain, uint64_t, size_t length, uint64_t, int, int access) {
  return ibv_reg_mr(domain, nullptr, length, access);
}
int ibv_dereg_mr(ibv_mr* region) {
  delete region;
  return 0;
}
ibv_ah* ibv_create_ah(ibv_pd*, ibv_ah_attr* way) {
  static ibv_ah handle;
  asked.ways.push_back(*way);
  return &handle;
}
int ibv_destroy_ah(ibv_ah*) { return 0; }
// Dynamically connected queue pairs have a test of their own.
ibv_srq* ibv_create_srq(ibv_pd*, ibv_srq_init_attr*) { return nullptr; }
int ibv_destroy_srq(ibv_srq*) { return 0; }
ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp*) { return nullptr; }
int ibv_close_device(ibv_context*) { return 0; }
const char* ibv_wc_status_str(ibv_wc_status) { return "status"; }
}

namespace headrace::verbs::verbs_endpoint_test {
namespace {

RdmaPort infiniband() {
  RdmaPort port;
  port.device = "mlx5_0";
  port.active = true;
  port.mtu = port.most_mtu = 4096;
  port.lid = 7;
  port.most_reads = 16;
  port.partitions = {0xffff, 0x8001};
  RdmaGid gid;
  gid.bytes = {0xfe, 0x80};
  port.gids = {gid};
  return port;
}

struct VerbsEndpoint : ::testing::Test {
  void SetUp() override { asked = {}; }
  static std::unique_ptr<RdmaEndpoint> open(const RdmaPort& port, const RdmaSettings& settings = {}) {
    return make_endpoint(Device(&device(), [](ibv_context*) {}), port, settings);
  }
  /// To another end on the same kind of port; `subnet` reports its address's from this one's.
  static void connect(RdmaEndpoint& end, bool other_subnet = false) {
    RdmaAddress other = end.address();
    other.lid = 9;
    if (other_subnet) other.gid[7] = 1;
    end.connect(other);
  }
  std::array<unsigned char, 64> memory{};
};

TEST_F(VerbsEndpoint, AReceiverIsTriedForEverAndASenderIsNot) {
  const auto end = open(infiniband(), {.queue_pairs = 2});
  connect(*end);
  ASSERT_EQ(asked.send.size(), 2u);
  for (const ibv_qp_attr& a : asked.send) {
    EXPECT_EQ(a.rnr_retry, 7);
    EXPECT_LT(a.retry_cnt, 7);
  }
}

TEST_F(VerbsEndpoint, SomeQueuePairsAreGivenUpAndTheOthersGoOn) {
  const auto end = open(infiniband(), {.queue_pairs = 4});
  connect(*end);
  end->give_up(1, 2);
  const std::vector<std::uint32_t>& numbers = end->address().queue_pairs;
  EXPECT_EQ(asked.given_up, (std::vector<std::uint32_t>{numbers[1], numbers[2]}));
}

/// What is wrong with memory, or with the program, is nothing of the way between two ends.
TEST_F(VerbsEndpoint, OnlyTheUndeliveredRestIsCutOff) {
  const auto end = open(infiniband());
  for (const int status : {IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR})
    EXPECT_TRUE(end->cut_off(status)) << end->why(status);
  for (const int status : {IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_LEN_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR,
                           IBV_WC_REM_OP_ERR, IBV_WC_GENERAL_ERR})
    EXPECT_FALSE(end->cut_off(status)) << end->why(status);
}

TEST_F(VerbsEndpoint, OrderIsRelaxedForBandwidthAlone) {
  const auto polled = open(infiniband()), streamed = open(infiniband(), {.relaxed_ordering = true});
  const auto a = polled->enroll(memory), b = streamed->enroll(memory), c = streamed->enroll_dma_buf(0, 0, 64, 0);
  ASSERT_EQ(asked.access.size(), 3u);
  EXPECT_EQ(asked.access[0] & IBV_ACCESS_RELAXED_ORDERING, 0u);
  EXPECT_NE(asked.access[1] & IBV_ACCESS_RELAXED_ORDERING, 0u);
  EXPECT_NE(asked.access[2] & IBV_ACCESS_RELAXED_ORDERING, 0u);
}

TEST_F(VerbsEndpoint, AGlobalRouteIsGivenWhereItMustBe) {
  const auto route = [](const RdmaPort& port, bool other_subnet) {
    asked = {};
    const auto end = open(port, {.traffic_class = 104, .flow_label = 0x12345});
    connect(*end, other_subnet);
    return asked.receive.at(0).ah_attr;
  };
  RdmaPort port = infiniband();
  EXPECT_EQ(route(port, false).is_global, 0) << "a LID is enough within a subnet";
  EXPECT_EQ(route(port, true).is_global, 1);
  port.global_route = true;  // as virtual functions and some fabrics say (IBV_QPF_GRH_REQUIRED)
  const ibv_ah_attr required = route(port, false);
  EXPECT_EQ(required.is_global, 1);
  EXPECT_EQ(required.dlid, 9);
  EXPECT_EQ(required.grh.traffic_class, 104);
  EXPECT_EQ(required.grh.flow_label, 0x12345u);
}

TEST_F(VerbsEndpoint, QueuePairsAreOfThePartitionAskedFor) {
  const auto end = open(infiniband(), {.partition_index = 1});
  EXPECT_EQ(asked.init.at(0).pkey_index, 1);
  EXPECT_EQ(end->address().partition, 0x8001);
  RdmaAddress other = end->address();
  other.partition = 0x0001;  // a limited member of the same
  EXPECT_NO_THROW(end->connect(other));
  other.partition = 0xffff;
  try {
    end->connect(other);
    FAIL() << "packets of another partition are dropped";
  } catch (const RunError& e) {
    EXPECT_STREQ(e.what(), "mlx5_0/1: partition 0x8001 here and 0xffff at the other end do not talk: set `partition`");
  }
}

TEST_F(VerbsEndpoint, ADatagramNamesItsTarget) {
  const auto end = open(infiniband(), {.transport = RdmaTransport::datagram, .queue_pairs = 2, .partition_index = 1});
  ASSERT_EQ(asked.made.size(), 2u);
  EXPECT_EQ(asked.made[0].qp_type, IBV_QPT_UD);
  EXPECT_EQ(asked.init.at(0).pkey_index, 1);
  const std::uint32_t key = asked.init[0].qkey;
  RdmaAddress other = end->address();
  other.lid = 9;
  other.queue_pairs = {201, 202};
  end->connect(other);
  ASSERT_EQ(asked.ways.size(), 1u) << "one way for all queue pairs to one other end";
  EXPECT_EQ(asked.ways[0].dlid, 9);
  const RdmaWork work{.op = RdmaOp::send_immediate, .length = 8, .local = memory.data(), .immediate = 7};
  ASSERT_EQ(end->post(1, {&work, 1}), 0);
  ASSERT_EQ(asked.posted.size(), 1u);
  EXPECT_EQ(asked.posted[0].opcode, IBV_WR_SEND_WITH_IMM);
  EXPECT_EQ(asked.posted[0].imm_data, 7u);
  EXPECT_EQ(asked.posted[0].wr.ud.remote_qpn, 202u);
  EXPECT_EQ(asked.posted[0].wr.ud.remote_qkey, key);
  EXPECT_NE(asked.posted[0].wr.ud.ah, nullptr);
  other.mtu = 1024;
  EXPECT_NO_THROW(end->connect(other));
  EXPECT_EQ(end->mtu(), 1024u);
}

/// The header that lies before each datagram is nobody's data.
TEST_F(VerbsEndpoint, ADatagramComesWithoutItsHeader) {
  const auto end = open(infiniband(), {.transport = RdmaTransport::datagram});
  ASSERT_EQ(end->receive(0, memory.data(), 64, 1, 5), 0);
  ASSERT_EQ(asked.received.size(), 2u);
  EXPECT_EQ(asked.received[0].length, 40u);
  EXPECT_EQ(asked.received[1].addr, reinterpret_cast<std::uint64_t>(memory.data()));
  EXPECT_EQ(asked.received[1].length, 64u);
  asked.arrives.byte_len = 104;
  RdmaCompletion done;
  ASSERT_EQ(end->poll_received({&done, 1}), 1);
  EXPECT_EQ(done.length, 64u);
  asked.arrives.byte_len = 40;
  ASSERT_EQ(end->poll_received({&done, 1}), 1);
  EXPECT_EQ(done.length, 0u);
  ASSERT_EQ(end->poll({&done, 1}), 1);
  EXPECT_EQ(done.length, 40u) << "what is sent has none";
}

/// Of those that are not in use as well: with less, what comes for one of them is lost, and the queue with it.
TEST_F(VerbsEndpoint, DatagramsOfAllQueuePairsHaveRoom) {
  const RdmaSettings some{.queue_pairs = 16, .in_use = 2, .tx_depth = 10, .rx_depth = 50};
  open(infiniband(), some);
  EXPECT_EQ(asked.rooms, (std::vector<int>{20, 100}));
  asked = {};
  RdmaSettings datagrams = some;
  datagrams.transport = RdmaTransport::datagram;
  open(infiniband(), datagrams);
  EXPECT_EQ(asked.rooms, (std::vector<int>{20, 800}));
  asked = {};
  datagrams.rx_depth = 1u << 31;  // no number of entries that an int holds
  open(infiniband(), datagrams);
  EXPECT_EQ(asked.rooms.at(1), std::numeric_limits<int>::max());
}

/// Whatever the card says of the queue pair: what was posted comes back.
TEST_F(VerbsEndpoint, ACompletionReportsItsQueuePairAndKind) {
  for (const RdmaTransport transport : {RdmaTransport::reliable, RdmaTransport::datagram}) {
    asked = {};
    const auto end = open(infiniband(), {.transport = transport, .queue_pairs = 3});
    connect(*end);
    const RdmaWork work{.op = RdmaOp::send, .length = 8, .local = memory.data(), .id = 77};
    ASSERT_EQ(end->post(2, {&work, 1}), 0);
    ASSERT_EQ(end->receive(1, memory.data(), 8, 1, 0xffffffff), 0);
    RdmaCompletion done;
    asked.arrives.qp_num = 12345;
    asked.arrives.wr_id = asked.posted.at(0).wr_id;
    ASSERT_EQ(end->poll({&done, 1}), 1);
    EXPECT_EQ(done.id, 77u);
    EXPECT_EQ(done.queue, 2u);
    asked.arrives.wr_id = asked.received_as;
    ASSERT_EQ(end->poll_received({&done, 1}), 1);
    EXPECT_EQ(done.id, 0xffffffff);
    EXPECT_EQ(done.queue, 1u);
  }
}

TEST_F(VerbsEndpoint, AManagedConnectionNeedsAnAddress) {
  RdmaPort port = infiniband();
  try {
    open(port, {.managed = true});
    FAIL() << "there is no such device here";
  } catch (const Unsupported& e) {
    EXPECT_NE(std::string(e.what()).find("connect: rdma_cm: "), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace headrace::verbs::verbs_endpoint_test

#else
TEST(VerbsEndpoint, NeedsTheHeadersOfLibibverbs) { GTEST_SKIP() << "built without libibverbs"; }
#endif
