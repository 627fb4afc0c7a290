#include "harness/backends/verbs/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <random>

#include "harness/backends/verbs/retries.h"
#include "harness/backends/verbs/words.h"

namespace headrace::verbs {
namespace {

constexpr std::uint8_t kHops = 64;

const char* layer(bool ethernet) { return ethernet ? "RoCE" : "InfiniBand"; }

}  // namespace

Endpoint::Endpoint(const Device& device, const RdmaPort& port, const RdmaSettings& settings)
    : port_(port), settings_(settings), domain_(std::make_shared<Domain>()) {
  domain_->device = device;
  domain_->pd.reset(ibv_alloc_pd(device.get()));
  if (!domain_->pd) throw refused(port.name(), "make a protection domain", errno);
  const unsigned in_use = settings.in_use > 0 ? settings.in_use : settings.queue_pairs;
  sent_ = completion_queue(std::uint64_t{settings.tx_depth} * in_use);
  // A datagram comes when it likes, for queue pairs that are not in use, too.
  const bool all = settings.transport == RdmaTransport::datagram;
  received_ = completion_queue(std::uint64_t{settings.rx_depth} * (all ? settings.queue_pairs : in_use));
  describe();
}

std::unique_ptr<RdmaMemory> Endpoint::enroll(std::span<unsigned char> memory) {
  ibv_mr* region = ibv_reg_mr(domain_->pd.get(), memory.data(), memory.size(), access());
  if (!region) throw refused_memory(port_.name(), memory.size(), domain_->enrolled + memory.size(), errno);
  return std::make_unique<Memory>(domain_, region);
}

std::unique_ptr<RdmaMemory> Endpoint::enroll_dma_buf(int fd, std::uint64_t offset, std::uint64_t length,
                                                     std::uint64_t address) {
  ibv_mr* region = ibv_reg_dmabuf_mr(domain_->pd.get(), offset, length, address, fd, access());
  if (!region) throw refused(port_.name(), fmt::format("register {} bytes of a device by dma-buf", length), errno);
  return std::make_unique<Memory>(domain_, region);
}

int Endpoint::receive(unsigned queue, void* to, std::uint32_t length, std::uint32_t local_key,
                      std::uint32_t id) noexcept {
  ibv_sge part{reinterpret_cast<std::uint64_t>(to), length, local_key};
  ibv_recv_wr request{};
  request.wr_id = tagged(queue, id);
  request.sg_list = &part;
  request.num_sge = length > 0 ? 1 : 0;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(queues_[queue].get(), &request, &bad);
}

void Endpoint::give_up(unsigned first, unsigned count) {
  ibv_qp_attr none{};
  none.qp_state = IBV_QPS_RESET;
  for (unsigned i = first; i < first + count; ++i)
    change(queues_.at(i).get(), none, IBV_QP_STATE, "give a queue pair up");
}

bool Endpoint::cut_off(int status) const {
  return status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR || status == IBV_WC_WR_FLUSH_ERR;
}

std::string Endpoint::why(int status) const { return port_.name() + ": " + completion_text(status, mtu_); }

int Endpoint::access() const noexcept {
  return kAccess | (settings_.relaxed_ordering ? static_cast<int>(IBV_ACCESS_RELAXED_ORDERING) : 0);
}

Held<ibv_cq> Endpoint::completion_queue(std::uint64_t entries) {
  const auto room = static_cast<int>(std::clamp<std::uint64_t>(entries, 1, std::numeric_limits<int>::max()));
  ibv_cq* queue = ibv_create_cq(domain_->device.get(), room, nullptr, nullptr, 0);
  if (!queue)
    throw refused(port_.name(),
                  fmt::format("make a completion queue of {} entries (at most {})", entries, port_.most_completions),
                  errno);
  return Held<ibv_cq>(queue);
}

void Endpoint::describe() {
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

void Endpoint::make_queue_pairs(ibv_qp_type type, unsigned receive_parts, const ibv_qp_attr& attributes, int mask) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = sent_.get();
  wanted.recv_cq = received_.get();
  wanted.qp_type = type;
  wanted.cap.max_send_wr = settings_.tx_depth;
  wanted.cap.max_recv_wr = std::max(settings_.rx_depth, 1u);
  wanted.cap.max_send_sge = 1;
  wanted.cap.max_recv_sge = receive_parts;
  wanted.cap.max_inline_data = settings_.inline_size;
  for (unsigned i = 0; i < settings_.queue_pairs; ++i) {
    ibv_qp_init_attr given = wanted;
    Held<ibv_qp> queue(ibv_create_qp(domain_->pd.get(), &given));
    if (!queue)
      throw refused(
          port_.name(),
          fmt::format("make queue pair {} of {} (tx_depth {}, at most {}; {} bytes inline)", queues_.size() + 1,
                      settings_.queue_pairs, settings_.tx_depth, port_.most_work, settings_.inline_size),
          errno);
    ibv_qp_attr init = attributes;
    init.qp_state = IBV_QPS_INIT;
    init.port_num = static_cast<std::uint8_t>(port_.number);
    init.pkey_index = static_cast<std::uint16_t>(settings_.partition_index);
    change(queue.get(), init, mask | IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT, "set a queue pair up");
    address_.queue_pairs.push_back(queue->qp_num);
    queues_.push_back(std::move(queue));
  }
}

unsigned Endpoint::check_fits(const RdmaAddress& other, unsigned first, unsigned others_first, unsigned count) {
  if (count == 0) count = settings_.queue_pairs - first;
  if (first + count > queues_.size() || others_first + count > other.queue_pairs.size())
    throw RunError(fmt::format("{}: the other end has {} queue pairs, this one {}: set queue_pairs alike", port_.name(),
                               other.queue_pairs.size(), queues_.size()));
  if (other.ethernet != port_.ethernet)
    throw RunError(fmt::format("{}: {} here and {} at the other end do not talk: choose `device` on both", port_.name(),
                               layer(port_.ethernet), layer(other.ethernet)));
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
  return count;
}

ibv_ah_attr Endpoint::route_to(const RdmaAddress& other) const {
  ibv_ah_attr route{};
  route.port_num = static_cast<std::uint8_t>(port_.number);
  route.sl = static_cast<std::uint8_t>(settings_.service_level);
  route.dlid = other.lid;
  // RoCE has no other address; InfiniBand needs the global one beyond its subnet, and where the port requires it.
  const bool beyond = std::memcmp(other.gid.data(), address_.gid.data(), 8) != 0;
  if (!port_.ethernet && !port_.global_route && !beyond) return route;
  route.is_global = 1;
  std::memcpy(route.grh.dgid.raw, other.gid.data(), other.gid.size());
  route.grh.sgid_index = static_cast<std::uint8_t>(settings_.gid_index);
  route.grh.hop_limit = kHops;
  route.grh.flow_label = settings_.flow_label;
  route.grh.traffic_class = static_cast<std::uint8_t>(settings_.traffic_class);
  return route;
}

void Endpoint::start_sending(ibv_qp* queue, const RdmaAddress& other, const std::string& what) const {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTS;
  a.timeout = kTimeout;
  a.retry_cnt = kRetries;
  a.rnr_retry = kReceiverRetries;
  a.sq_psn = address_.sequence;
  a.max_rd_atomic = static_cast<std::uint8_t>(std::min(address_.reads, other.reads));
  change(queue, a,
         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
         what);
}

void Endpoint::change(ibv_qp* queue, ibv_qp_attr& attributes, int mask, const std::string& what) const {
  if (const int code = ibv_modify_qp(queue, &attributes, mask)) throw refused(port_.name(), what, code);
}

int Endpoint::poll(ibv_cq* queue, std::span<RdmaCompletion> done) noexcept {
  constexpr int kAtOnce = 32;
  ibv_wc found[kAtOnce];
  const int count = ibv_poll_cq(queue, std::min(static_cast<int>(done.size()), kAtOnce), found);
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = found[i];
    done[static_cast<std::size_t>(i)] = {static_cast<std::uint32_t>(wc.wr_id), wc.status, wc.byte_len, wc.imm_data,
                                         static_cast<unsigned>(wc.wr_id >> 32)};
  }
  return count < 0 ? -EIO : count;
}

}  // namespace headrace::verbs
