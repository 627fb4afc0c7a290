#include "harness/backends/verbs/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "harness/backends/verbs/words.h"

namespace headrace::verbs {
namespace {

// Soft-RoCE and some cards take 7 as "for ever": a peer that is gone would never be reported.
constexpr std::uint8_t kRetries = 6;
// For ever, as perftest and NCCL do: a receiver that answers is there, and may have been preempted for longer than a few
// retries take. One that stays so is StallWatch's to tell.
constexpr std::uint8_t kReceiverRetries = 7;
constexpr std::uint8_t kTimeout = 14;        // 4.096 us * 2^14 = 67 ms
constexpr std::uint8_t kReceiverDelay = 12;  // 0.64 ms before a message that found no receive comes again
constexpr std::uint8_t kHops = 64;

struct Release {
  void operator()(ibv_pd* p) const { ibv_dealloc_pd(p); }
  void operator()(ibv_cq* p) const { ibv_destroy_cq(p); }
  void operator()(ibv_qp* p) const { ibv_destroy_qp(p); }
  void operator()(ibv_mr* p) const { ibv_dereg_mr(p); }
};
template <class T>
using Held = std::unique_ptr<T, Release>;

/// What must outlive memory that is registered with it.
struct Domain {
  Device device;
  Held<ibv_pd> pd;
  std::uint64_t enrolled = 0;  // bytes
};

class Memory final : public RdmaMemory {
 public:
  Memory(std::shared_ptr<Domain> domain, ibv_mr* region)
      : domain_(std::move(domain)), region_(region), length_(region->length) {
    local_key_ = region->lkey;
    remote_key_ = region->rkey;
    domain_->enrolled += length_;
  }
  ~Memory() override { domain_->enrolled -= length_; }

 private:
  std::shared_ptr<Domain> domain_;
  Held<ibv_mr> region_;
  std::uint64_t length_;
};

constexpr ibv_wr_opcode opcode(RdmaOp op) {
  constexpr ibv_wr_opcode kCodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_SEND};
  return kCodes[static_cast<unsigned>(op)];
}

// Old cards refuse to write where the owner may not: this process must be able to write it, too.
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

class Endpoint final : public RdmaEndpoint {
 public:
  Endpoint(const Device& device, const RdmaPort& port, const RdmaSettings& settings)
      : port_(port), settings_(settings), domain_(std::make_shared<Domain>()) {
    domain_->device = device;
    domain_->pd.reset(ibv_alloc_pd(device.get()));
    if (!domain_->pd) throw refused(port.name(), "make a protection domain", errno);
    const unsigned in_use = settings.in_use > 0 ? settings.in_use : settings.queue_pairs;
    sent_ = completion_queue(settings.tx_depth * in_use);
    received_ = completion_queue(settings.rx_depth * in_use);
    describe();
    for (unsigned i = 0; i < settings.queue_pairs; ++i) add_queue_pair();
    std::sort(numbers_.begin(), numbers_.end());
  }

  const RdmaAddress& address() const override { return address_; }
  unsigned mtu() const override { return mtu_; }

  void connect(const RdmaAddress& other, unsigned first, unsigned others_first, unsigned count) override {
    if (count == 0) count = settings_.queue_pairs - first;
    if (first + count > queues_.size() || others_first + count > other.queue_pairs.size())
      throw RunError(fmt::format("{}: the other end has {} queue pairs, this one {}: set queue_pairs alike",
                                 port_.name(), other.queue_pairs.size(), queues_.size()));
    if (other.ethernet != port_.ethernet)
      throw RunError(fmt::format("{}: {} here and {} at the other end do not talk: choose `device` on both",
                                 port_.name(), layer(port_.ethernet), layer(other.ethernet)));
    if (address_.partition != 0 && other.partition != 0 && ((address_.partition ^ other.partition) & 0x7fff) != 0)
      throw RunError(fmt::format("{}: partition {:#06x} here and {:#06x} at the other end do not talk: set `partition`",
                                 port_.name(), address_.partition, other.partition));
    const unsigned mtu = settings_.mtu != 0 ? settings_.mtu : std::min(port_.mtu, other.mtu);
    if (mtu > port_.mtu || mtu > other.mtu)
      throw RunError(
          fmt::format("{}: mtu {} does not fit: the port is set to {}, the other end's to {}; set both "
                      "interfaces alike (ip link set NAME mtu 9000), or ask for less",
                      port_.name(), mtu, port_.mtu, other.mtu));
    mtu_ = mtu;
    for (unsigned i = 0; i < count; ++i)
      connect_one(queues_[first + i].get(), other, other.queue_pairs[others_first + i]);
  }

  std::unique_ptr<RdmaMemory> enroll(std::span<unsigned char> memory) override {
    ibv_mr* region = ibv_reg_mr(domain_->pd.get(), memory.data(), memory.size(), access());
    if (!region) throw refused_memory(port_.name(), memory.size(), domain_->enrolled + memory.size(), errno);
    return std::make_unique<Memory>(domain_, region);
  }
  std::unique_ptr<RdmaMemory> enroll_dma_buf(int fd, std::uint64_t offset, std::uint64_t length,
                                             std::uint64_t address) override {
    ibv_mr* region = ibv_reg_dmabuf_mr(domain_->pd.get(), offset, length, address, fd, access());
    if (!region) throw refused(port_.name(), fmt::format("register {} bytes of a device by dma-buf", length), errno);
    return std::make_unique<Memory>(domain_, region);
  }

  int post(unsigned queue, std::span<const RdmaWork> work) noexcept override {
    const std::size_t count = work.size();
    for (std::size_t i = 0; i < count; ++i) {
      const RdmaWork& w = work[i];
      ibv_send_wr& request = requests_[i];
      parts_[i] = {reinterpret_cast<std::uint64_t>(w.local), w.length, w.local_key};
      request.wr_id = w.id;
      request.next = i + 1 < count ? &requests_[i + 1] : nullptr;
      request.sg_list = &parts_[i];
      request.num_sge = w.length > 0 ? 1 : 0;
      request.opcode = opcode(w.op);
      request.send_flags =
          (w.signaled ? unsigned{IBV_SEND_SIGNALED} : 0u) | (w.inlined ? unsigned{IBV_SEND_INLINE} : 0u);
      request.imm_data = w.immediate;
      request.wr.rdma = {w.remote, w.remote_key};
    }
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(queues_[queue].get(), requests_, &bad);
  }

  int receive(unsigned queue, void* to, std::uint32_t length, std::uint32_t local_key,
              std::uint64_t id) noexcept override {
    ibv_sge part{reinterpret_cast<std::uint64_t>(to), length, local_key};
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = &part;
    request.num_sge = length > 0 ? 1 : 0;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(queues_[queue].get(), &request, &bad);
  }

  int poll(std::span<RdmaCompletion> done) noexcept override { return poll(sent_.get(), done); }
  int poll_received(std::span<RdmaCompletion> done) noexcept override { return poll(received_.get(), done); }

  std::string why(int status) const override { return port_.name() + ": " + completion_text(status, mtu_); }

 private:
  int access() const noexcept {
    return kAccess | (settings_.relaxed_ordering ? static_cast<int>(IBV_ACCESS_RELAXED_ORDERING) : 0);
  }
  static const char* layer(bool ethernet) { return ethernet ? "RoCE" : "InfiniBand"; }

  Held<ibv_cq> completion_queue(unsigned entries) {
    ibv_cq* queue = ibv_create_cq(domain_->device.get(), static_cast<int>(std::max(entries, 1u)), nullptr, nullptr, 0);
    if (!queue)
      throw refused(port_.name(),
                    fmt::format("make a completion queue of {} entries (at most {})", entries, port_.most_completions),
                    errno);
    return Held<ibv_cq>(queue);
  }

  void describe() {
    address_.ethernet = port_.ethernet;
    address_.lid = port_.lid;
    address_.mtu = port_.mtu;
    address_.reads = std::min(port_.most_reads, 16u);
    address_.sequence = std::random_device{}() & 0xffffff;
    if (settings_.partition_index < port_.partitions.size())
      address_.partition = port_.partitions[settings_.partition_index];
    const auto gid = std::find_if(port_.gids.begin(), port_.gids.end(),
                                  [&](const RdmaGid& g) { return g.index == settings_.gid_index; });
    if (gid != port_.gids.end()) address_.gid = gid->bytes;
  }

  void add_queue_pair() {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = sent_.get();
    wanted.recv_cq = received_.get();
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap.max_send_wr = settings_.tx_depth;
    wanted.cap.max_recv_wr = std::max(settings_.rx_depth, 1u);
    wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
    wanted.cap.max_inline_data = settings_.inline_size;
    Held<ibv_qp> queue(ibv_create_qp(domain_->pd.get(), &wanted));
    if (!queue)
      throw refused(
          port_.name(),
          fmt::format("make queue pair {} of {} (tx_depth {}, at most {}; {} bytes inline)", queues_.size() + 1,
                      settings_.queue_pairs, settings_.tx_depth, port_.most_work, settings_.inline_size),
          errno);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = static_cast<std::uint8_t>(port_.number);
    attributes.pkey_index = static_cast<std::uint16_t>(settings_.partition_index);
    attributes.qp_access_flags = kAccess;
    change(queue.get(), attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
           "set a queue pair up");
    address_.queue_pairs.push_back(queue->qp_num);
    numbers_.push_back({queue->qp_num, static_cast<unsigned>(queues_.size())});
    queues_.push_back(std::move(queue));
  }

  void connect_one(ibv_qp* queue, const RdmaAddress& other, std::uint32_t number) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = mtu_of(mtu_);
    a.dest_qp_num = number;
    a.rq_psn = other.sequence;
    a.max_dest_rd_atomic = static_cast<std::uint8_t>(address_.reads);
    a.min_rnr_timer = kReceiverDelay;
    a.ah_attr.port_num = static_cast<std::uint8_t>(port_.number);
    a.ah_attr.sl = static_cast<std::uint8_t>(settings_.service_level);
    a.ah_attr.dlid = other.lid;
    // RoCE has no other address; InfiniBand needs the global one beyond its subnet, and where the port says so.
    const bool beyond = std::memcmp(other.gid.data(), address_.gid.data(), 8) != 0;
    if (port_.ethernet || port_.global_route || beyond) {
      a.ah_attr.is_global = 1;
      std::memcpy(a.ah_attr.grh.dgid.raw, other.gid.data(), other.gid.size());
      a.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(settings_.gid_index);
      a.ah_attr.grh.hop_limit = kHops;
      a.ah_attr.grh.flow_label = settings_.flow_label;
      a.ah_attr.grh.traffic_class = static_cast<std::uint8_t>(settings_.traffic_class);
    }
    change(queue, a,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
               IBV_QP_MIN_RNR_TIMER,
           fmt::format("connect by GID {}: is it of the network that the other end's address is in?",
                       settings_.gid_index));
    a = {};
    a.qp_state = IBV_QPS_RTS;
    a.timeout = kTimeout;
    a.retry_cnt = kRetries;
    a.rnr_retry = kReceiverRetries;
    a.sq_psn = address_.sequence;
    a.max_rd_atomic = static_cast<std::uint8_t>(std::min(address_.reads, other.reads));
    change(
        queue, a,
        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
        "start a queue pair");
  }

  void change(ibv_qp* queue, ibv_qp_attr& attributes, int mask, const std::string& what) {
    if (const int code = ibv_modify_qp(queue, &attributes, mask)) throw refused(port_.name(), what, code);
  }

  int poll(ibv_cq* queue, std::span<RdmaCompletion> done) noexcept {
    constexpr int kAtOnce = 32;
    ibv_wc found[kAtOnce];
    const int count = ibv_poll_cq(queue, std::min(static_cast<int>(done.size()), kAtOnce), found);
    for (int i = 0; i < count; ++i) {
      const ibv_wc& wc = found[i];
      done[static_cast<std::size_t>(i)] = {wc.wr_id, wc.status, wc.byte_len, wc.imm_data, index_of(wc.qp_num)};
    }
    return count < 0 ? -EIO : count;
  }

  unsigned index_of(std::uint32_t number) const noexcept {
    if (numbers_.size() == 1) return 0;
    const auto at = std::lower_bound(numbers_.begin(), numbers_.end(), number,
                                     [](const Number& n, std::uint32_t wanted) { return n.number < wanted; });
    return at != numbers_.end() ? at->index : 0;
  }

  struct Number {
    std::uint32_t number;
    unsigned index;
    bool operator<(const Number& other) const { return number < other.number; }
  };

  const RdmaPort port_;
  const RdmaSettings settings_;
  std::shared_ptr<Domain> domain_;
  Held<ibv_cq> sent_, received_;
  std::vector<Held<ibv_qp>> queues_;  // go before the completion queues
  std::vector<Number> numbers_;       // by number
  RdmaAddress address_;
  unsigned mtu_ = 0;
  ibv_send_wr requests_[kMostPosted]{};
  ibv_sge parts_[kMostPosted]{};
};

}  // namespace

std::unique_ptr<RdmaEndpoint> make_endpoint(const Device& device, const RdmaPort& port, const RdmaSettings& settings) {
  return std::make_unique<Endpoint>(device, port, settings);
}

}  // namespace headrace::verbs
