#include "harness/bringup/network/rdma_pair.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "harness/backends/buffers.h"
#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/base/random.h"
#include "harness/machine/network/nccl_settings.h"
#include "harness/machine/network/rdma_place.h"
#include "harness/machine/network/rdma_wire.h"
#include "harness/machine/numa.h"
#include "harness/machine/rdma_counters.h"
#include "harness/record/ranks/wire.h"

namespace headrace {
namespace {

constexpr std::uint32_t kMessage = 64 << 10;  // bytes of a write
constexpr unsigned kMessages = 64;            // that messages come from, and go to, in turn
constexpr unsigned kDepth = 16;               // messages in flight on each queue pair
constexpr unsigned kWords = 4;                // of words, too
constexpr double kAlive_s = 0.5;              // so often a sign of life
constexpr double kWarmUp = 0.2;               // of the time
constexpr double kSettle_s = 0.01;            // acknowledged data may still be on its way into memory
constexpr double kSpin_s = 100e-6;            // several times RDMA's own time
constexpr std::chrono::microseconds kNap{10};

enum class Mark : std::uint64_t { ping, data_follows, alive, done };

/// A message of one end, written into the other end's memory. Devices write the last byte last; `begins` shows whether
/// the next word came while this one was read.
struct Signal {
  std::uint64_t begins = 0;
  Mark mark = Mark::ping;
  std::uint64_t count = 0;
  std::uint64_t ends = 0;  // in its last byte another number than the word before
};
constexpr std::uint64_t turn_of(std::uint64_t number) { return number << 56; }

/// Either on a cache line of its own.
struct Signals {
  alignas(64) Signal here;
  alignas(64) Signal there;
};

/// Polls at first, so that an early message is seen at once. Then leaves the processor to others, the kernel's part of
/// a software device among them.
class Spin {
 public:
  explicit Spin(double patience_s) : deadline_(patience_s) {}
  /// False: nothing came for too long.
  bool wait() {
    if (++count_ % 64 != 0) return true;
    if (seconds_since(begin_ns_) > kSpin_s) {
      std::this_thread::sleep_for(kNap);
      count_ = 63;
    }
    return !deadline_.over();
  }

 private:
  const std::uint64_t begin_ns_ = now_ns();
  const Deadline deadline_;
  unsigned count_ = 0;
};

const RdmaPort& port_named(const RdmaBackend& rdma, const std::string& name) {
  for (const RdmaPort& port : rdma.ports())
    if (port.name() == name) return port;
  throw RunError("there is no RDMA port " + name);
}

RdmaPlace place_at(const RdmaBackend& rdma, const std::string& name) {
  const RdmaPort& port = port_named(rdma, name);
  return choose_rdma_place(rdma.ports(),
                           {.device = port.device, .port = port.number, .roce_gid_index = nccl_rdma().roce_gid_index});
}

const NumaNode* near(const RdmaPort& port, const std::vector<NumaNode>& nodes) {
  std::string unused;
  return choose_numa_node(NumaChoice::local, port.numa_node, nodes, unused);
}

void fill(unsigned char* to, std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t value = random.next();
    std::memcpy(to + at, &value, sizeof value);
  }
}

}  // namespace

class RdmaPair::Ends {
 public:
  Ends(RdmaBackend& rdma, const RdmaPairPlan& plan)
      : plan_(plan),
        place_(place_at(rdma, plan.port)),
        nodes_(numa_nodes()),
        node_(near(*place_.port, nodes_)),
        placing_(std::in_place, node_),
        memory_(1, 2 * kArea + kPage, /*huge_pages=*/true),
        words_(*new (memory_.begin() + 2 * kArea) Signals),
        talk_(rdma.open(*place_.port, settings(1, kWords, /*relaxed=*/false))),
        data_(rdma.open(*place_.port, settings(plan.queue_pairs, kDepth, /*relaxed=*/true))),
        words_memory_(talk_->enroll({memory_.begin() + 2 * kArea, kPage})),
        data_memory_(data_->enroll({memory_.begin(), 2 * kArea})),
        seed_(std::random_device()()) {
    fill(memory_.begin(), kArea, seed_);
    std::memset(sink(), 0, kArea);
    placing_.reset();
  }

  std::string card() const {
    const auto card = [](const RdmaEndpoint& endpoint, const RdmaMemory& memory, const unsigned char* begin,
                         std::uint64_t length) {
      return to_bytes(
          RdmaCard{endpoint.address(), reinterpret_cast<std::uint64_t>(begin), length, memory.remote_key()});
    };
    wire::Writer writer;
    writer.put(card(*talk_, *words_memory_, memory_.begin() + 2 * kArea, kPage));
    writer.put(card(*data_, *data_memory_, memory_.begin(), 2 * kArea));
    return writer.put(seed_).bytes();
  }

  void connect(const std::string& bytes) {
    wire::Reader reader(bytes);
    std::string signals, data;
    reader.get(signals);
    reader.get(data);
    reader.get(others_seed_);
    others_words_ = card_from(signals);
    others_data_ = card_from(data);
    if (others_data_.address.queue_pairs.size() != plan_.queue_pairs)
      throw RunError("the other end has another number of queue pairs");
    talk_->connect(others_words_.address);
    data_->connect(others_data_.address);
    before_ = system::rdma_counters(plan_.port, plan_.sys);
  }

  RdmaPairEnd measure(bool leads) {
    const OnNumaNode there(node_);
    end_ = Deadline((kPinging + 2) * plan_.time_s + plan_.spare_s);
    RdmaPairEnd end;
    if (leads) {
      end.latency = ping();
      send(end);
      end.damaged = wait_for_data(hear_data());
    } else {
      end.damaged = wait_for_data(answer());
      send(end);
    }
    const system::RdmaCounters after = system::rdma_counters(plan_.port, plan_.sys);
    for (const auto& [name, count] : after.own_errors)
      if (const auto old = before_.own_errors.find(name); old != before_.own_errors.end() && count > old->second)
        end.own_errors[name] = count - old->second;
    const double packets = static_cast<double>(messages_) * kMessage / std::max(1u, data_->mtu());
    if (after.sent_again > before_.sent_again && packets > 0)
      end.sent_again = std::min(1.0, static_cast<double>(after.sent_again - before_.sent_again) / packets);
    return end;
  }

 private:
  static constexpr std::size_t kArea = std::size_t{kMessages} * kMessage;

  RdmaSettings settings(unsigned queue_pairs, unsigned depth, bool relaxed) const {
    return {.gid_index = place_.gid_index,
            .queue_pairs = queue_pairs,
            .tx_depth = depth,
            .traffic_class = nccl_.traffic_class.value_or(0),
            .service_level = nccl_.service_level.value_or(0),
            .partition_index = nccl_.partition_index.value_or(place_.partition_index),
            .relaxed_ordering = relaxed};
  }
  unsigned char* sink() const { return memory_.begin() + kArea; }

  [[noreturn]] void silent() const {
    throw RunError(end_.over() ? "the other end did not finish in time" : "the peer timed out");
  }
  static void check_post(int code) {
    if (code != 0) throw system_error("post to", "the other end", code);
  }
  static void check_done(const RdmaEndpoint& endpoint, const RdmaCompletion& done) {
    if (done.status != 0) throw RunError(endpoint.why(done.status));
  }

  /// Completions of one endpoint: how many there are now.
  template <class Took>
  static unsigned reap(RdmaEndpoint& endpoint, Took took) {
    std::array<RdmaCompletion, RdmaEndpoint::kMostPosted> done;
    const int count = endpoint.poll(done);
    if (count < 0) throw system_error("poll", "a completion queue", -count);
    for (int i = 0; i < count; ++i) {
      check_done(endpoint, done[static_cast<unsigned>(i)]);
      took(done[static_cast<unsigned>(i)]);
    }
    return static_cast<unsigned>(count);
  }

  void post_word(Mark mark, std::uint64_t count) {
    const std::uint64_t turn = turn_of(++said_);
    words_.there = {turn, mark, count, turn};
    const RdmaWork work{.op = RdmaOp::write,
                        .length = sizeof(Signal),
                        .local = &words_.there,
                        .local_key = words_memory_->local_key(),
                        .remote_key = others_words_.key,
                        .remote = others_words_.memory + offsetof(Signals, here)};
    check_post(talk_->post(0, {&work, 1}));
    ++words_in_flight_;
  }
  void reap_words() {
    words_in_flight_ -= reap(*talk_, [](const RdmaCompletion&) {});
  }
  /// It is gone before another one takes its place.
  void say(Mark mark, std::uint64_t count) {
    post_word(mark, count);
    for (Spin spin(plan_.silence_s); words_in_flight_ > 0; reap_words())
      if (!spin.wait()) silent();
  }
  /// While data moves: no answer is waited for.
  void say_alive() {
    reap_words();
    if (words_in_flight_ < kWords) post_word(Mark::alive, 0);
  }

  /// The next word; `pace_s`: how long it may sleep in between.
  Signal hear(double patience_s, double pace_s = 0) {
    const std::atomic_ref<std::uint64_t> begins(words_.here.begins), ends(words_.here.ends);
    for (Spin spin(std::min(patience_s, end_.left_s())); spin.wait();) {
      if (const std::uint64_t turn = ends.load(std::memory_order_acquire); turn != heard_) {
        const Signal word{turn, words_.here.mark, words_.here.count, turn};
        std::atomic_thread_fence(std::memory_order_acquire);
        if (begins.load(std::memory_order_relaxed) != turn) continue;
        heard_ = turn;
        return word;
      }
      if (pace_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(pace_s));
    }
    silent();
  }

  PairLatency ping() {
    std::vector<double> times;
    times.reserve(kMostPings);
    std::uint64_t count = 0;
    for (const Deadline end(kPinging * plan_.time_s); times.empty() || (!end.over() && times.size() < kMostPings);) {
      const std::uint64_t begin_ns = now_ns();
      say(Mark::ping, ++count);
      if (hear(plan_.silence_s).count != count) silent();
      times.push_back(seconds_since(begin_ns));
    }
    say(Mark::data_follows, 0);
    return latency_of(std::move(times));
  }

  /// Waits for the next signal that is no ping.
  Signal answer() {
    Signal word;
    while ((word = hear(2 * plan_.silence_s)).mark == Mark::ping) say(Mark::ping, word.count);
    return word;
  }

  void post(unsigned queue) {
    const std::size_t offset = messages_++ % kMessages * kMessage;
    const RdmaWork work{.op = RdmaOp::write,
                        .length = kMessage,
                        .local = memory_.begin() + offset,
                        .local_key = data_memory_->local_key(),
                        .remote_key = others_data_.key,
                        .remote = others_data_.memory + kArea + offset};
    check_post(data_->post(queue, {&work, 1}));
  }

  /// At full speed for the time; then sends the other end how much that was.
  void send(RdmaPairEnd& end) {
    const std::uint64_t begin_ns = now_ns();
    const auto at = [&](double share) { return begin_ns + static_cast<std::uint64_t>(share * plan_.time_s * 1e9); };
    const std::uint64_t warm_ns = at(kWarmUp), end_ns = at(1);
    std::uint64_t arrived = 0, from = 0, from_ns = 0, last_ns = begin_ns;
    for (unsigned i = 0; i < kDepth; ++i)
      for (unsigned queue = 0; queue < plan_.queue_pairs; ++queue) post(queue);
    std::uint64_t signs = 0;
    for (std::optional<Spin> spin(plan_.silence_s); arrived < messages_;) {
      const std::uint64_t time_ns = now_ns();
      if (static_cast<double>(time_ns - begin_ns) > 1e9 * kAlive_s * static_cast<double>(signs + 1)) {
        ++signs;
        say_alive();
      }
      const unsigned count = reap(*data_, [&](const RdmaCompletion& done) {
        if (time_ns < end_ns) post(done.queue);
      });
      if (count == 0) {
        if (!spin->wait()) silent();
        continue;
      }
      spin.emplace(plan_.silence_s);
      arrived += count;
      last_ns = time_ns;
      if (from_ns == 0 && time_ns >= warm_ns) {
        from = arrived;
        from_ns = time_ns;
      }
    }
    // One that is very slow has not had its first message through by then.
    if (from_ns == 0 || from_ns == last_ns) {
      from = 0;
      from_ns = begin_ns;
    }
    end.sent = 1e9 * static_cast<double>((arrived - from) * kMessage) /
               static_cast<double>(std::max<std::uint64_t>(1, last_ns - from_ns));
    say(Mark::done, messages_);
  }

  Signal hear_data() { return hear(2 * plan_.silence_s, /*pace_s=*/100e-6); }

  /// `word`: its first one. The difference between received and sent data.
  std::string wait_for_data(Signal word) {
    while (word.mark != Mark::done) word = hear_data();
    std::this_thread::sleep_for(std::chrono::duration<double>(kSettle_s));
    std::vector<unsigned char> sent(kArea);
    fill(sent.data(), kArea, others_seed_);
    const std::size_t bytes = std::min<std::uint64_t>(word.count, kMessages) * kMessage;
    const auto wrong = std::mismatch(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(bytes), sink()).first;
    const auto at = static_cast<std::size_t>(wrong - sent.begin());
    if (at >= bytes) return "";
    return fmt::format("received data differs from the sent data, from byte {} of message buffer {}", at % kMessage,
                       at / kMessage);
  }

  const RdmaPairPlan plan_;
  const RdmaPlace place_;
  const NcclRdma nccl_ = nccl_rdma();
  const std::vector<NumaNode> nodes_;
  const NumaNode* node_;
  std::optional<OnNumaNode> placing_;  // while memory is made
  Buffers memory_;                     // sent data, received data, and Signals
  Signals& words_;
  std::unique_ptr<RdmaEndpoint> talk_, data_;
  std::unique_ptr<RdmaMemory> words_memory_, data_memory_;
  const std::uint64_t seed_;
  RdmaCard others_words_, others_data_;
  std::uint64_t others_seed_ = 0, said_ = 0, heard_ = 0, messages_ = 0;
  unsigned words_in_flight_ = 0;
  Deadline end_{0};  // of measuring, however the other end behaves
  system::RdmaCounters before_;
};

RdmaPair::RdmaPair(RdmaBackend& rdma, const RdmaPairPlan& plan) : ends_(std::make_unique<Ends>(rdma, plan)) {}
RdmaPair::~RdmaPair() = default;
std::string RdmaPair::card() const { return ends_->card(); }
void RdmaPair::connect(const std::string& others_card) { ends_->connect(others_card); }
RdmaPairEnd RdmaPair::measure(bool leads) { return ends_->measure(leads); }

}  // namespace headrace
