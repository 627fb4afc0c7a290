#include "harness/backends/verbs/dynamic.h"

#include <fmt/format.h>
#include <infiniband/mlx5dv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "harness/backends/library.h"
#include "harness/backends/verbs/endpoint.h"
#include "harness/backends/verbs/retries.h"
#include "harness/backends/verbs/words.h"

namespace headrace::verbs {
namespace {

constexpr std::uint64_t kKey = 0x68656164;  // the key that an initiator must name to reach a target

/// The driver's own library, which need not be there.
struct Mlx5 {
  Library library{"libmlx5.so.1"};
  decltype(&::mlx5dv_is_supported) is_supported = nullptr;
  decltype(&::mlx5dv_create_qp) create_qp = nullptr;
  decltype(&::mlx5dv_qp_ex_from_ibv_qp_ex) qp_ex = nullptr;
  decltype(&::mlx5dv_query_device) query_device = nullptr;
  decltype(&::mlx5dv_devx_general_cmd) command = nullptr;

  static const Mlx5& loaded() {
    static const Mlx5 functions;
    return functions;
  }
  /// Throws Unsupported.
  static const Mlx5& for_device(const Device& device, const RdmaPort& port) {
    const Mlx5& functions = loaded();
    if (!functions.library) throw Unsupported("transport: dc: " + functions.library.why());
    if (!functions.is_supported || !functions.create_qp || !functions.qp_ex)
      throw Unsupported("transport: dc: libmlx5.so.1 is older than rdma-core 25");
    if (!functions.is_supported(device->device))
      throw Unsupported(
          fmt::format("transport: dc: {} is no card of the mlx5 driver: only those have it", port.name()));
    return functions;
  }

 private:
  Mlx5() {
    library.find("mlx5dv_is_supported", is_supported);
    library.find("mlx5dv_create_qp", create_qp);
    library.find("mlx5dv_qp_ex_from_ibv_qp_ex", qp_ex);
    library.find("mlx5dv_query_device", query_device);
    library.find("mlx5dv_devx_general_cmd", command);
  }
};

struct ReleaseReceives {
  void operator()(ibv_srq* queue) const { ibv_destroy_srq(queue); }
};
struct ReleaseWay {
  void operator()(ibv_ah* way) const { ibv_destroy_ah(way); }
};

/// For each queue pair an initiator, to which it posts, and a target, whose number the other end receives.
class Dynamic final : public Endpoint {
 public:
  Dynamic(const Device& device, const RdmaPort& port, const RdmaSettings& settings)
      : Endpoint(device, port, settings), mlx5_(Mlx5::for_device(device, port)), lanes_(settings.queue_pairs) {
    for (unsigned i = 0; i < settings.queue_pairs; ++i) {
      add_initiator(i);
      add_target(i);
    }
  }
  ~Dynamic() override {
    targets_.clear();  // before the objects that they receive with
    queues_.clear();
  }

  void connect(const RdmaAddress& other, unsigned first, unsigned others_first, unsigned count) override {
    count = check_fits(other, first, others_first, count);
    ibv_ah_attr route = route_to(other);
    const std::shared_ptr<ibv_ah> way(ibv_create_ah(domain_->pd.get(), &route), [](ibv_ah* handle) {
      if (handle) ReleaseWay()(handle);
    });
    if (!way) throw refused(port_.name(), "make an address handle: does the other end's address answer?", errno);
    for (unsigned i = 0; i < count; ++i) {
      lanes_[first + i].way = way;
      lanes_[first + i].number = other.queue_pairs[others_first + i];
      start(queues_[first + i].get(), other);
    }
  }

  int post(unsigned queue, std::span<const RdmaWork> work) noexcept override {
    const Lane& lane = lanes_[queue];
    ibv_wr_start(lane.requests);
    for (const RdmaWork& w : work) {
      lane.requests->wr_id = tagged(queue, w.id);
      lane.requests->wr_flags = w.signaled ? unsigned{IBV_SEND_SIGNALED} : 0u;
      describe(lane.requests, w);
      mlx5dv_wr_set_dc_addr(lane.targets, lane.way.get(), lane.number, kKey);
      if (w.inlined)
        ibv_wr_set_inline_data(lane.requests, const_cast<void*>(w.local), w.length);
      else if (w.length > 0)
        ibv_wr_set_sge(lane.requests, w.local_key, reinterpret_cast<std::uint64_t>(w.local), w.length);
      else
        ibv_wr_set_sge_list(lane.requests, 0, nullptr);
    }
    return ibv_wr_complete(lane.requests);
  }

  int receive(unsigned queue, void* to, std::uint32_t length, std::uint32_t local_key,
              std::uint32_t id) noexcept override {
    ibv_sge part{reinterpret_cast<std::uint64_t>(to), length, local_key};
    ibv_recv_wr request{};
    request.wr_id = tagged(queue, id);
    request.sg_list = &part;
    request.num_sge = length > 0 ? 1 : 0;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_srq_recv(lanes_[queue].receives.get(), &request, &bad);
  }

 private:
  struct Lane {
    ibv_qp_ex* requests = nullptr;
    mlx5dv_qp_ex* targets = nullptr;
    std::shared_ptr<ibv_ah> way;
    std::uint32_t number = 0;  // of the other end's target
    std::unique_ptr<ibv_srq, ReleaseReceives> receives;
  };

  static void describe(ibv_qp_ex* requests, const RdmaWork& w) noexcept {
    switch (w.op) {
      case RdmaOp::write:
        return ibv_wr_rdma_write(requests, w.remote_key, w.remote);
      case RdmaOp::write_immediate:
        return ibv_wr_rdma_write_imm(requests, w.remote_key, w.remote, w.immediate);
      case RdmaOp::read:
        return ibv_wr_rdma_read(requests, w.remote_key, w.remote);
      case RdmaOp::send:
        return ibv_wr_send(requests);
      case RdmaOp::send_immediate:
        return ibv_wr_send_imm(requests, w.immediate);
    }
  }

  Held<ibv_qp> make(ibv_qp_init_attr_ex& wanted, mlx5dv_dc_type type, unsigned which) {
    wanted.qp_type = IBV_QPT_DRIVER;
    wanted.comp_mask |= IBV_QP_INIT_ATTR_PD;
    wanted.pd = domain_->pd.get();
    wanted.send_cq = sent_.get();
    wanted.recv_cq = received_.get();
    mlx5dv_qp_init_attr dynamic{};
    dynamic.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC;
    dynamic.dc_init_attr.dc_type = type;
    if (type == MLX5DV_DCTYPE_DCI) {  // the driver takes no data that was read out of an initiator's completions
      dynamic.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
      dynamic.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
    }
    if (type == MLX5DV_DCTYPE_DCT) dynamic.dc_init_attr.dct_access_key = kKey;
    Held<ibv_qp> made(mlx5_.create_qp(domain_->device.get(), &wanted, &dynamic));
    if (!made && (errno == EOPNOTSUPP || errno == ENOSYS))
      throw Unsupported(fmt::format("transport: dc: {} does not have it", port_.name()));
    if (!made)
      throw refused(port_.name(),
                    fmt::format("make dynamically connected queue pair {} of {} (tx_depth {}, at most {})", which + 1,
                                settings_.queue_pairs, settings_.tx_depth, port_.most_work),
                    errno);
    return made;
  }

  void add_initiator(unsigned which) {
    ibv_qp_init_attr_ex wanted{};
    wanted.cap.max_send_wr = settings_.tx_depth;
    wanted.cap.max_send_sge = 1;
    wanted.cap.max_inline_data = settings_.inline_size;
    wanted.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    wanted.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
                            IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    Held<ibv_qp> queue = make(wanted, MLX5DV_DCTYPE_DCI, which);
    ibv_qp_attr init = first_state();
    change(queue.get(), init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT, "set an initiator up");
    lanes_[which].requests = ibv_qp_to_qp_ex(queue.get());
    lanes_[which].targets = mlx5_.qp_ex(lanes_[which].requests);
    queues_.push_back(std::move(queue));
  }

  void add_target(unsigned which) {
    ibv_srq_init_attr room{};
    room.attr.max_wr = std::max(settings_.rx_depth, 1u);
    room.attr.max_sge = 1;
    lanes_[which].receives.reset(ibv_create_srq(domain_->pd.get(), &room));
    if (!lanes_[which].receives)
      throw refused(port_.name(), fmt::format("make a queue of {} receives", room.attr.max_wr), errno);
    ibv_qp_init_attr_ex wanted{};
    wanted.srq = lanes_[which].receives.get();
    Held<ibv_qp> target = make(wanted, MLX5DV_DCTYPE_DCT, which);
    ibv_qp_attr a = first_state();
    a.qp_access_flags = kAccess;
    change(target.get(), a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "set a target up");
    a = {};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = mtu_of(settings_.mtu != 0 ? settings_.mtu : port_.mtu);
    a.min_rnr_timer = kReceiverDelay;
    a.ah_attr = route_to(address_);
    change(target.get(), a, IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER, "start a target");
    address_.queue_pairs.push_back(target->qp_num);  // which it has from here on
    targets_.push_back(std::move(target));
  }

  ibv_qp_attr first_state() const {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = static_cast<std::uint8_t>(port_.number);
    a.pkey_index = static_cast<std::uint16_t>(settings_.partition_index);
    return a;
  }

  void start(ibv_qp* queue, const RdmaAddress& other) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = mtu_of(mtu_);
    a.ah_attr = route_to(other);
    change(queue, a, IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV, "start an initiator");
    start_sending(queue, other, "start an initiator");
  }

  const Mlx5& mlx5_;
  std::vector<Lane> lanes_;
  std::vector<Held<ibv_qp>> targets_;
};

}  // namespace

unsigned lag_legs(const Device& device) {
  const Mlx5& mlx5 = Mlx5::loaded();
  if (!mlx5.is_supported || !mlx5.query_device || !mlx5.command || !mlx5.is_supported(device->device)) return 0;
  mlx5dv_context known{};
  known.comp_mask = MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS;
  if (mlx5.query_device(device.get(), &known) != 0 || (known.comp_mask & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS) == 0)
    return 0;
  // Cards with two ports report 2 whether they are bonded or not. The firmware's QUERY_LAG reports the state.
  constexpr std::array<std::uint8_t, 2> kQueryLag{0x08, 0x42};
  constexpr std::size_t kLength = 16, kMode = 10, kState = 11;
  constexpr std::uint8_t kBits = 7, kSeparatePorts = 2;
  std::array<std::uint8_t, kLength> in{}, out{};
  std::copy(kQueryLag.begin(), kQueryLag.end(), in.begin());
  if (mlx5.command(device.get(), in.data(), in.size(), out.data(), out.size()) != 0) return 0;
  const bool bonded = (out[kState] & kBits) != 0 && (out[kMode] & kBits) != kSeparatePorts;
  return bonded && known.num_lag_ports > 1 ? known.num_lag_ports : 0;
}

std::unique_ptr<RdmaEndpoint> make_dynamic_endpoint(const Device& device, const RdmaPort& port,
                                                    const RdmaSettings& settings) {
  return std::make_unique<Dynamic>(device, port, settings);
}

}  // namespace headrace::verbs
