#include "harness/backends/verbs/manager.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <vector>

#include "harness/backends/verbs/domain.h"
#include "harness/backends/verbs/manager_address.h"
#include "harness/backends/verbs/manager_library.h"
#include "harness/backends/verbs/retries.h"
#include "harness/backends/verbs/words.h"

namespace headrace::verbs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{20};  // for one connection
constexpr int kResolve_ms = 5000;
constexpr int kWaiting = 1024;  // requests that are not accepted yet

/// The content of a request: its queue pair, and the mark of headrace.
struct Word {
  std::uint32_t magic = 0x68656164;
  std::uint32_t queue = 0;
};

class Manager final : public ConnectionManager {
 public:
  Manager(const RdmaPort& port, unsigned gid_index)
      : cm_(ManagerLibrary::get()), name_(port.name()), here_(manager_address(port, gid_index)) {
    channel_ = cm_.create_event_channel();
    if (!channel_)
      throw Unsupported(fmt::format("connect: rdma_cm: {}: the kernel's connection manager: {} (modprobe rdma_ucm)",
                                    name_, errno_text(errno)));
    try {
      ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
      listener_ = make_id();
      sockaddr_storage address;
      to_sockaddr(here_, 0, address);
      must(cm_.bind_addr(listener_, reinterpret_cast<sockaddr*>(&address)), "bind to the port's IP address");
      if (const std::string found = found_port(); found != name_)
        throw RunError(fmt::format("{}: connect: rdma_cm: its IP address leads to {}", name_, found));
      must(cm_.listen(listener_, kWaiting), "listen");
      service_ = ntohs(cm_.get_src_port(listener_));
    } catch (...) {
      end();
      throw;
    }
  }
  ~Manager() override { end(); }

  std::array<std::uint8_t, 16> ip() const override { return here_.ip; }
  std::uint16_t service() const override { return service_; }

  unsigned connect(std::span<const ManagedPair> pairs, const RdmaAddress& other, bool asks,
                   const ManagedTerms& terms) override {
    unsigned mtu = terms.mtu;
    for (const ManagedPair& pair : pairs) {
      deadline_ = Clock::now() + kPatience;
      mtu = std::min(mtu, asks ? ask(pair, other, terms) : answer(pair, terms));
    }
    return mtu;
  }

 private:
  struct Request {
    rdma_cm_id* id;
    std::uint32_t queue;
  };

  void must(int result, const char* what) const {
    if (result != 0) throw refused(name_, std::string("connect: rdma_cm: ") + what, errno);
  }
  /// By the address that the listener is bound to.
  std::string found_port() const {
    if (!listener_->verbs) return "no RDMA device";
    return fmt::format("{}/{}", listener_->verbs->device->name, listener_->port_num);
  }
  rdma_cm_id* make_id() {
    rdma_cm_id* id = nullptr;
    must(cm_.create_id(channel_, &id, nullptr, RDMA_PS_TCP), "make an identifier");
    return id;
  }
  void end() noexcept {
    for (rdma_cm_id* id : ids_) cm_.destroy_id(id);
    for (const Request& r : waiting_) cm_.destroy_id(r.id);
    if (listener_) cm_.destroy_id(listener_);
    if (channel_) cm_.destroy_event_channel(channel_);
  }

  unsigned ask(const ManagedPair& pair, const RdmaAddress& other, const ManagedTerms& terms) {
    rdma_cm_id* id = ids_.emplace_back(make_id());
    sockaddr_storage from, to;
    to_sockaddr(here_, 0, from);
    to_sockaddr({other.ip, here_.interface}, other.service, to);
    must(cm_.resolve_addr(id, reinterpret_cast<sockaddr*>(&from), reinterpret_cast<sockaddr*>(&to), kResolve_ms),
         "look for the other end's address");
    wait_for(id, RDMA_CM_EVENT_ADDR_RESOLVED);
    if (std::uint8_t service = static_cast<std::uint8_t>(terms.traffic_class); service != 0)
      must(cm_.set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &service, sizeof service), "set the traffic class");
    must(cm_.resolve_route(id, kResolve_ms), "look for the route");
    wait_for(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
    const Word word{.queue = pair.others_number};
    rdma_conn_param parameters = parameters_for(pair, terms);
    parameters.private_data = &word;
    parameters.private_data_len = sizeof word;
    must(cm_.connect(id, &parameters), "ask for a connection");
    wait_for(id, RDMA_CM_EVENT_CONNECT_RESPONSE);
    const unsigned mtu = start(id, pair, terms);
    must(cm_.establish(id), "establish a connection");
    return mtu;
  }

  unsigned answer(const ManagedPair& pair, const ManagedTerms& terms) {
    const auto mine = [&] {
      return std::find_if(waiting_.begin(), waiting_.end(),
                          [&](const Request& r) { return r.queue == pair.queue->qp_num; });
    };
    while (mine() == waiting_.end()) next(nullptr);
    rdma_cm_id* id = ids_.emplace_back(mine()->id);
    waiting_.erase(mine());
    const unsigned mtu = start(id, pair, terms);
    rdma_conn_param parameters = parameters_for(pair, terms);
    must(cm_.accept(id, &parameters), "accept a connection");
    wait_for(id, RDMA_CM_EVENT_ESTABLISHED);
    return mtu;
  }

  static rdma_conn_param parameters_for(const ManagedPair& pair, const ManagedTerms& terms) {
    rdma_conn_param parameters{};
    parameters.responder_resources = parameters.initiator_depth = static_cast<std::uint8_t>(terms.reads);
    parameters.retry_count = kRetries;
    parameters.rnr_retry_count = kReceiverRetries;
    parameters.qp_num = pair.queue->qp_num;
    return parameters;
  }

  /// Through its states, with what the manager found out. The MTU [B].
  unsigned start(rdma_cm_id* id, const ManagedPair& pair, const ManagedTerms& terms) {
    unsigned mtu = terms.mtu;
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      ibv_qp_attr attributes{};
      attributes.qp_state = state;
      int mask = 0;
      must(cm_.init_qp_attr(id, &attributes, &mask), "ask for the route that was found");
      if (state == IBV_QPS_INIT) attributes.qp_access_flags = kAccess;
      if (state == IBV_QPS_RTR) {
        mtu = std::min(mtu, mtu_bytes(attributes.path_mtu));
        attributes.path_mtu = mtu_of(mtu);
        attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(terms.reads);
        attributes.min_rnr_timer = kReceiverDelay;  // the kernel's 0 means 655 ms
      }
      if (state == IBV_QPS_RTS) {
        attributes.max_rd_atomic = static_cast<std::uint8_t>(terms.reads);
        attributes.retry_cnt = kRetries;
        attributes.rnr_retry = kReceiverRetries;
        attributes.timeout = terms.timeout;
      }
      if (const int code = ibv_modify_qp(pair.queue, &attributes, mask))
        throw refused(name_, "connect: rdma_cm: start a queue pair", code);
    }
    return mtu;
  }

  void wait_for(rdma_cm_id* id, rdma_cm_event_type wanted) {
    for (;;) {
      const rdma_cm_event_type came = next(id);
      if (came == wanted) return;
    }
  }

  /// The next event: requests are kept; a failure of `id` is thrown. Returns the event of `id`; else a request.
  rdma_cm_event_type next(rdma_cm_id* id) {
    rdma_cm_event* event = nullptr;
    while (cm_.get_cm_event(channel_, &event) != 0) {
      if (errno != EAGAIN && errno != EINTR) throw refused(name_, "connect: rdma_cm: hear what happened", errno);
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      if (left <= 0)
        throw RunError(
            fmt::format("{}: connect: rdma_cm: the other end did not answer within {} s", name_, kPatience.count()));
      pollfd wait{channel_->fd, POLLIN, 0};
      ::poll(&wait, 1, static_cast<int>(left));
    }
    const rdma_cm_event_type type = event->event;
    const int status = event->status;
    const bool is_mine = event->id == id;
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) keep(*event);
    cm_.ack_cm_event(event);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) return type;
    if (!is_mine) return RDMA_CM_EVENT_TIMEWAIT_EXIT;  // of an earlier connection
    switch (type) {
      case RDMA_CM_EVENT_ADDR_ERROR:
      case RDMA_CM_EVENT_ROUTE_ERROR:
      case RDMA_CM_EVENT_CONNECT_ERROR:
      case RDMA_CM_EVENT_UNREACHABLE:
      case RDMA_CM_EVENT_REJECTED:
        throw RunError(fmt::format(
            "{}: connect: rdma_cm: {} ({}): is the other end's IP address reached from {}, and do "
            "its packets pass (ping, UDP port 4791)?",
            name_, cm_.event_str(type), status < 0 ? errno_text(-status) : std::to_string(status), here_.interface));
      default:
        return type;
    }
  }

  void keep(const rdma_cm_event& event) {
    Word word;
    const rdma_conn_param& said = event.param.conn;
    if (said.private_data_len >= sizeof word) std::memcpy(&word, said.private_data, sizeof word);
    if (said.private_data_len >= sizeof word && word.magic == Word{}.magic)
      waiting_.push_back({event.id, word.queue});
    else
      ids_.push_back(event.id);  // a stranger, which gets no answer
  }

  const ManagerLibrary& cm_;
  const std::string name_;
  const ManagerAddress here_;
  rdma_event_channel* channel_ = nullptr;
  rdma_cm_id* listener_ = nullptr;
  std::uint16_t service_ = 0;
  std::vector<rdma_cm_id*> ids_;  // of connections; go before the channel
  std::deque<Request> waiting_;
  Clock::time_point deadline_;
};

}  // namespace

std::unique_ptr<ConnectionManager> make_connection_manager(const RdmaPort& port, unsigned gid_index) {
  return std::make_unique<Manager>(port, gid_index);
}

}  // namespace headrace::verbs
