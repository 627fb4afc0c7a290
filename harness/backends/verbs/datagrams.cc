#include "harness/backends/verbs/datagrams.h"

#include <cerrno>

#include "harness/backends/verbs/words.h"

namespace headrace::verbs {
namespace {

constexpr std::uint32_t kQueueKey = 0x11111111;  // that both ends must know; the upper half's bits are the kernel's own

}  // namespace

Datagrams::Datagrams(const Device& device, const RdmaPort& port, const RdmaSettings& settings)
    : Endpoint(device, port, settings), targets_(settings.queue_pairs) {
  constexpr int kHere = IBV_ACCESS_LOCAL_WRITE;
  header_region_.reset(ibv_reg_mr(domain_->pd.get(), header_, sizeof header_, kHere));
  if (!header_region_) throw refused_memory(port.name(), sizeof header_, sizeof header_, errno);
  ibv_qp_attr attributes{};
  attributes.qkey = kQueueKey;
  make_queue_pairs(IBV_QPT_UD, 2, attributes, IBV_QP_QKEY);
  for (const Held<ibv_qp>& queue : queues_) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    change(queue.get(), a, IBV_QP_STATE, "start a queue pair's receiving");
    a.qp_state = IBV_QPS_RTS;
    a.sq_psn = address_.sequence;
    change(queue.get(), a, IBV_QP_STATE | IBV_QP_SQ_PSN, "start a queue pair");
  }
}

void Datagrams::connect(const RdmaAddress& other, unsigned first, unsigned others_first, unsigned count) {
  count = check_fits(other, first, others_first, count);
  ibv_ah_attr route = route_to(other);
  const std::shared_ptr<ibv_ah> way(ibv_create_ah(domain_->pd.get(), &route), [](ibv_ah* handle) {
    if (handle) ibv_destroy_ah(handle);
  });
  if (!way) throw refused(port_.name(), "make an address handle: does the other end's address answer?", errno);
  for (unsigned i = 0; i < count; ++i) targets_[first + i] = {way, other.queue_pairs[others_first + i]};
}

int Datagrams::post(unsigned queue, std::span<const RdmaWork> work) noexcept {
  const Target& to = targets_[queue];
  return post_all(queue, work, [&](ibv_send_wr& request, const RdmaWork&) {
    request.wr.ud = {to.way.get(), to.number, kQueueKey};
  });
}

/// The header goes to an unused place.
int Datagrams::receive(unsigned queue, void* to, std::uint32_t length, std::uint32_t local_key,
                       std::uint32_t id) noexcept {
  ibv_sge parts[2] = {{reinterpret_cast<std::uint64_t>(header_), kHeader, header_region_->lkey},
                      {reinterpret_cast<std::uint64_t>(to), length, local_key}};
  ibv_recv_wr request{};
  request.wr_id = tagged(queue, id);
  request.sg_list = parts;
  request.num_sge = length > 0 ? 2 : 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(queues_[queue].get(), &request, &bad);
}

int Datagrams::poll_received(std::span<RdmaCompletion> done) noexcept {
  const int count = Endpoint::poll_received(done);
  for (int i = 0; i < count; ++i) {
    std::uint32_t& length = done[static_cast<std::size_t>(i)].length;
    length = length > kHeader ? length - kHeader : 0;
  }
  return count;
}

}  // namespace headrace::verbs
