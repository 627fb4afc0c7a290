#include "harness/backends/verbs/connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "harness/backends/verbs/manager.h"
#include "harness/backends/verbs/retries.h"
#include "harness/backends/verbs/words.h"

namespace headrace::verbs {

Connections::Connections(const Device& device, const RdmaPort& port, const RdmaSettings& settings)
    : Endpoint(device, port, settings) {
  ibv_qp_attr attributes{};
  attributes.qp_access_flags = kAccess;
  make_queue_pairs(IBV_QPT_RC, 1, attributes, IBV_QP_ACCESS_FLAGS);
  if (!settings.managed) return;
  manager_ = make_connection_manager(port, settings.gid_index);
  address_.ip = manager_->ip();
  address_.service = manager_->service();
}

Connections::~Connections() = default;

void Connections::connect(const RdmaAddress& other, unsigned first, unsigned others_first, unsigned count) {
  count = check_fits(other, first, others_first, count);
  if (!manager_) {
    for (unsigned i = 0; i < count; ++i)
      connect_one(queues_[first + i].get(), other, other.queue_pairs[others_first + i]);
    return;
  }
  std::vector<ManagedPair> pairs;
  for (unsigned i = 0; i < count; ++i) pairs.push_back({queues_[first + i].get(), other.queue_pairs[others_first + i]});
  // One end asks, the other answers; both know both.
  const bool asks =
      std::tuple(address_.gid, address_.queue_pairs[first]) < std::tuple(other.gid, other.queue_pairs[others_first]);
  mtu_ = manager_->connect(pairs, other, asks,
                           {.reads = std::min(address_.reads, other.reads),
                            .mtu = mtu_,
                            .traffic_class = settings_.traffic_class,
                            .timeout = kTimeout});
}

int Connections::post(unsigned queue, std::span<const RdmaWork> work) noexcept {
  return post_all(queue, work, [](ibv_send_wr& request, const RdmaWork& w) {
    request.wr.rdma = {w.remote, w.remote_key};
  });
}

void Connections::connect_one(ibv_qp* queue, const RdmaAddress& other, std::uint32_t number) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = mtu_of(mtu_);
  a.dest_qp_num = number;
  a.rq_psn = other.sequence;
  a.max_dest_rd_atomic = static_cast<std::uint8_t>(address_.reads);
  a.min_rnr_timer = kReceiverDelay;
  a.ah_attr = route_to(other);
  change(
      queue, a,
      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
          IBV_QP_MIN_RNR_TIMER,
      fmt::format("connect by GID {}: is it of the network that the other end's address is in?", settings_.gid_index));
  start_sending(queue, other, "start a queue pair");
}

}  // namespace headrace::verbs
