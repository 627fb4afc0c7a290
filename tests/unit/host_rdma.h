// RDMA devices that are this process's own memory: what is written is copied at once, what is sent waits for a receive.
// For everything around queue pairs that needs no device, with several ends as threads of one process.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "harness/backends/rdma.h"
#include "harness/base/error.h"

namespace headrace::testing {

/// What goes wrong on the way.
struct HostRdmaFaults {
  bool corrupts = false;                                // every payload's first bit
  std::uint32_t spares = 0;                             // shorter ones come well [B]
  bool loses = false;                                   // nothing arrives, nobody learns it
  int fails_with = 0;                                   // status of every completion
  std::set<std::pair<std::string, std::string>> cut{};  // of ports' owners: nothing gets from the first to the second
  bool refuses_cut = false;                             // they cannot even be connected
  std::set<std::string> slow{};                         // of ports' owners: each call takes a millisecond more
  std::uint64_t after = 0;                              // that many requests go well
  unsigned drops = 0;                                   // datagrams: each that many-th; 0 = none
  bool echoes =
      false;  // datagrams without data: each comes once more, late: when another queue pair of its endpoint is used
};

/// The cable: every queue pair of every device by its number.
class HostFabric {
 public:
  struct Message {
    std::vector<unsigned char> data;
    std::uint32_t immediate = 0;
    bool is_send = false;
  };
  struct Receive {
    void* to;
    std::uint32_t length;
    std::uint32_t id;
  };
  struct Queue {
    std::deque<RdmaCompletion>* received = nullptr;
    unsigned index = 0;
    std::string owner;
    bool datagrams = false;
    std::deque<Receive> receives;
    std::deque<Message> waiting;  // for a receive
  };

  std::mutex mutex;
  std::map<std::uint32_t, Queue> queues;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> keys;  // remote key -> begin, end
  std::uint32_t next_queue = 100, next_key = 1;
  HostRdmaFaults faults;
  std::uint64_t requests = 0, datagrams = 0;
  std::vector<RdmaSettings> opened;                                                     // of each endpoint
  std::map<const std::deque<RdmaCompletion>*, std::pair<std::uint32_t, Message>> late;  // of each endpoint: to echo

  /// A datagram goes to queue pair `to`. Under the mutex.
  void echo(std::uint32_t to, const RdmaWork& w) {
    auto& [number, message] = late[queues.at(to).received];
    if (const auto before = queues.find(number);
        number != to && before != queues.end() && !before->second.receives.empty()) {
      before->second.waiting.push_back(message);
      match(before->second);
      number = 0;
    }
    if (w.length == 0) {
      number = to;
      message = {{}, w.immediate, true};
    }
  }

  /// Hands over what waits, as far as there are receives. Under the mutex.
  static void match(Queue& q) {
    while (!q.waiting.empty() && !q.receives.empty()) {
      const Message message = std::move(q.waiting.front());
      const Receive receive = q.receives.front();
      q.waiting.pop_front();
      q.receives.pop_front();
      if (message.is_send)
        std::copy_n(message.data.begin(), std::min<std::size_t>(message.data.size(), receive.length),
                    static_cast<unsigned char*>(receive.to));
      q.received->push_back(
          {receive.id, 0, static_cast<std::uint32_t>(message.data.size()), message.immediate, q.index});
    }
  }
};

class HostEndpoint final : public RdmaEndpoint {
 public:
  HostEndpoint(std::shared_ptr<HostFabric> fabric, const RdmaPort& port, const RdmaSettings& settings,
               std::string owner)
      : fabric_(std::move(fabric)),
        settings_(settings),
        owner_(std::move(owner)),
        others_(settings.queue_pairs),
        failed_(settings.queue_pairs) {
    address_.ethernet = port.ethernet;
    address_.mtu = port.mtu;
    address_.reads = 16;
    const std::lock_guard lock(fabric_->mutex);
    fabric_->opened.push_back(settings);
    for (unsigned i = 0; i < settings.queue_pairs; ++i) {
      address_.queue_pairs.push_back(fabric_->next_queue);
      HostFabric::Queue& queue = fabric_->queues[fabric_->next_queue++];
      queue.received = &received_;
      queue.index = i;
      queue.owner = owner_;
      queue.datagrams = settings.transport == RdmaTransport::datagram;
    }
  }
  ~HostEndpoint() override {
    const std::lock_guard lock(fabric_->mutex);
    for (const std::uint32_t number : address_.queue_pairs) fabric_->queues.erase(number);
  }

  const RdmaAddress& address() const override { return address_; }
  unsigned mtu() const override { return address_.mtu; }
  void connect(const RdmaAddress& other, unsigned first, unsigned others_first, unsigned count) override {
    if (count == 0) count = settings_.queue_pairs - first;
    {
      const std::lock_guard lock(fabric_->mutex);
      if (fabric_->faults.refuses_cut && is_cut(fabric_->queues.at(other.queue_pairs.at(others_first))))
        throw RunError("the address does not answer");
    }
    for (unsigned i = 0; i < count; ++i) others_[first + i] = other.queue_pairs.at(others_first + i);
  }
  std::unique_ptr<RdmaMemory> enroll(std::span<unsigned char> memory) override {
    const std::lock_guard lock(fabric_->mutex);
    const auto begin = reinterpret_cast<std::uint64_t>(memory.data());
    fabric_->keys[fabric_->next_key] = {begin, begin + memory.size()};
    return std::make_unique<Memory>(fabric_->next_key++);
  }
  std::unique_ptr<RdmaMemory> enroll_dma_buf(int, std::uint64_t, std::uint64_t, std::uint64_t) override {
    throw RunError("host memory has no dma-buf");
  }

  void give_up(unsigned first, unsigned count) override {
    const std::lock_guard lock(fabric_->mutex);
    for (unsigned i = first; i < first + count; ++i) {
      given_up_.insert(i);
      HostFabric::Queue& own = fabric_->queues.at(address_.queue_pairs[i]);
      own.receives.clear();
      own.waiting.clear();
    }
  }

  int post(unsigned queue, std::span<const RdmaWork> work) noexcept override {
    if (fabric_->faults.slow.contains(owner_)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(fabric_->mutex);
    if (work.size() > kMostPosted) return EINVAL;
    for (const RdmaWork& w : work) {
      if (given_up_.contains(queue)) return EINVAL;
      if (failed_[queue]) {  // nothing but a completion is left of it, whether asked for or not
        done_.push_back({w.id, kFlushed, 0, 0, queue});
        continue;
      }
      ++unfinished_;
      const bool faulty = fabric_->requests++ >= fabric_->faults.after;
      if (faulty && fabric_->faults.loses) continue;
      if (unfinished_ > settings_.tx_depth * settings_.queue_pairs) return ENOMEM;
      const int status = faulty && fabric_->faults.fails_with != 0
                             ? fabric_->faults.fails_with
                             : move(queue, w, faulty && fabric_->faults.corrupts && w.length >= fabric_->faults.spares);
      if (!w.signaled && status == 0) continue;
      unfinished_ = 0;
      done_.push_back({w.id, status, 0, 0, queue});
      if (status == kRetries) fail(queue);
    }
    return 0;
  }
  int receive(unsigned queue, void* to, std::uint32_t length, std::uint32_t, std::uint32_t id) noexcept override {
    const std::lock_guard lock(fabric_->mutex);
    HostFabric::Queue& own = fabric_->queues[address_.queue_pairs[queue]];
    if (given_up_.contains(queue)) return EINVAL;
    if (failed_[queue]) {
      received_.push_back({id, kFlushed, 0, 0, queue});
      return 0;
    }
    if (own.receives.size() >= std::max(settings_.rx_depth, 1u)) return ENOMEM;
    own.receives.push_back({to, length, id});
    HostFabric::match(own);
    return 0;
  }
  int poll(std::span<RdmaCompletion> done) noexcept override { return take(done_, done); }
  int poll_received(std::span<RdmaCompletion> done) noexcept override { return take(received_, done); }
  bool cut_off(int status) const override { return status == kFlushed || status == kRetries; }
  std::string why(int status) const override { return "status " + std::to_string(status); }

 private:
  class Memory final : public RdmaMemory {
   public:
    explicit Memory(std::uint32_t key) { local_key_ = remote_key_ = key; }
  };

  /// As libibverbs numbers them.
  static constexpr int kLocalLength = 1, kFlushed = 5, kRemoteAccess = 10, kRetries = 12;

  bool is_cut(const HostFabric::Queue& other) const {
    return fabric_->requests >= fabric_->faults.after && fabric_->faults.cut.contains({owner_, other.owner});
  }

  /// As queue pairs do: what it should receive ends, too, and it never recovers.
  void fail(unsigned queue) {
    failed_[queue] = true;
    HostFabric::Queue& own = fabric_->queues.at(address_.queue_pairs[queue]);
    for (const HostFabric::Receive& receive : own.receives) received_.push_back({receive.id, kFlushed, 0, 0, queue});
    own.receives.clear();
  }

  int take(std::deque<RdmaCompletion>& from, std::span<RdmaCompletion> to) noexcept {
    const std::lock_guard lock(fabric_->mutex);
    std::size_t count = 0;
    for (; count < to.size() && !from.empty(); ++count) {
      to[count] = from.front();
      from.pop_front();
    }
    return static_cast<int>(count);
  }

  /// The status.
  int move(unsigned queue, const RdmaWork& w, bool corrupts) {
    const auto found = fabric_->queues.find(others_[queue]);
    if (found == fabric_->queues.end()) return kRetries;
    if (is_cut(found->second)) return found->second.datagrams ? 0 : kRetries;
    const auto* local = static_cast<const unsigned char*>(w.local);
    const bool sends = w.op == RdmaOp::send || w.op == RdmaOp::send_immediate;
    if (found->second.datagrams) {
      if (!sends || w.length > 4096) return kLocalLength;
      // Nobody waits for a receive, and some are lost.
      if (fabric_->faults.drops != 0 && ++fabric_->datagrams % fabric_->faults.drops == 0) return 0;
      if (fabric_->faults.echoes) fabric_->echo(others_[queue], w);
      if (found->second.receives.empty()) return 0;
    }
    if (!sends && w.length > 0) {
      const auto key = fabric_->keys.find(w.remote_key);
      if (key == fabric_->keys.end() || w.remote < key->second.first || w.remote + w.length > key->second.second)
        return kRemoteAccess;
      auto* remote = reinterpret_cast<unsigned char*>(w.remote);
      if (w.op == RdmaOp::read) {
        std::memcpy(const_cast<void*>(w.local), remote, w.length);
        if (corrupts) static_cast<unsigned char*>(const_cast<void*>(w.local))[0] ^= 1;
        return 0;
      }
      // The last byte last, as devices do.
      std::memcpy(remote, local, w.length - 1);
      if (corrupts) remote[0] ^= 1;
      __atomic_store_n(remote + w.length - 1, local[w.length - 1], __ATOMIC_RELEASE);
    }
    if (w.op == RdmaOp::write || w.op == RdmaOp::read) return 0;
    HostFabric::Message message{{}, w.immediate, sends};
    if (message.is_send) message.data.assign(local, local + w.length);
    if (corrupts && !message.data.empty()) message.data[0] ^= 1;
    found->second.waiting.push_back(std::move(message));
    HostFabric::match(found->second);
    return 0;
  }

  std::shared_ptr<HostFabric> fabric_;
  RdmaSettings settings_;
  std::string owner_;
  RdmaAddress address_;
  std::vector<std::uint32_t> others_;
  std::vector<bool> failed_;
  std::set<unsigned> given_up_;
  std::deque<RdmaCompletion> done_, received_;
  std::uint64_t unfinished_ = 0;
};

/// Ports that are always up; all backends of one fabric are wired together.
class HostRdmaBackend final : public RdmaBackend {
 public:
  /// `down`: of the ports, by their number from 0. `owner`: whom HostRdmaFaults::cut names, by "a host0".
  explicit HostRdmaBackend(std::shared_ptr<HostFabric> fabric, unsigned ports = 1,
                           const std::vector<unsigned>& down = {}, std::string owner = "")
      : fabric_(std::move(fabric)), owner_(std::move(owner)) {
    for (unsigned i = 0; i < ports; ++i) ports_.push_back(port_of("host" + std::to_string(i)));
    for (const unsigned i : down) {
      ports_.at(i).active = false;
      ports_.at(i).state = "DOWN";
    }
  }
  std::optional<std::string> unusable() const override { return std::nullopt; }
  const std::vector<RdmaPort>& ports() const override { return ports_; }
  std::unique_ptr<RdmaEndpoint> open(const RdmaPort& port, const RdmaSettings& settings) override {
    return std::make_unique<HostEndpoint>(fabric_, port, settings, owner_ + " " + port.device);
  }

 private:
  static RdmaPort port_of(const std::string& device) {
    RdmaPort port;
    port.device = device;
    port.ethernet = port.active = true;
    port.state = "ACTIVE";
    port.rate = 10e9;
    port.mtu = port.most_mtu = 4096;
    port.most_message = 1u << 30;
    port.most_queue_pairs = port.most_work = port.most_completions = 1u << 16;
    port.gids = {{.index = 0, .kind = RdmaGid::Kind::roce_v2, .bytes = {0xfd}, .interface = "host"}};
    return port;
  }

  std::shared_ptr<HostFabric> fabric_;
  std::string owner_;
  std::vector<RdmaPort> ports_;
};

}  // namespace headrace::testing
