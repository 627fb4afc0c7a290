// What rdma_write, rdma_read and rdma_send move: which operation, how large, how many at once; their parameters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "harness/backends/buffers.h"
#include "harness/backends/rdma.h"
#include "harness/base/units.h"
#include "harness/record/params.h"
#include "workloads/network/rdma_lane.h"

namespace headrace::network {

struct RdmaTraffic {
  RdmaTraffic(Params& p, RdmaOp op)
      : op(op),
        latency(p.choice("measure", "bandwidth", {"bandwidth", "latency"},
                         "bandwidth: many messages in flight; latency: one at a time, to and fro") == "latency"),
        direction(direction_of(p.choice("direction", "one_way", {"one_way", "each_way", "both"},
                                        "of the data of a pair: to its second end; one way, then the other; both ways "
                                        "at once"))),
        transport(transport_of(p, op)),
        size(p.bytes("message_size", datagrams() ? 1_KiB : 64_KiB, {.min = 1, .max = static_cast<double>(1_GiB)},
                     "payload of one message; of a datagram at most the mtu")),
        time_s(p.seconds("time", 1, {.min = 0.01, .max = 3600}, "of one direction of a pair")),
        queue_pairs(static_cast<unsigned>(
            p.count("queue_pairs", 1, {.min = 1, .max = 1024},
                    "of a pair, through each of its ports; 1: at least four for each leg of a bond or plane"))),
        tx_depth(static_cast<unsigned>(
            p.count("tx_depth", 128, {.min = 2, .max = 32768}, "messages in flight per queue pair"))),
        rx_depth(static_cast<unsigned>(
            p.count("rx_depth", 512, {.min = 2, .max = 32768}, "receives posted per queue pair; for sends alone"))),
        post_list(static_cast<unsigned>(p.count("post_list", 1, {.min = 1, .max = RdmaEndpoint::kMostPosted},
                                                "messages handed to the device at once"))),
        moderation(
            static_cast<unsigned>(p.count("cq_moderation", 32, {.min = 1, .max = 16384}, "messages per completion"))),
        inline_size(static_cast<unsigned>(p.bytes("inline_size", 220, {.min = 0, .max = 1024},
                                                  "messages up to this size go with the request itself"))),
        buffer(p.bytes("buffer", 16_MiB, {.min = 1, .max = static_cast<double>(64_GiB)},
                       "distinct bytes that messages are sent from, and received into, in turn")) {
    if (latency && both()) p.conflict("direction", "latency is measured to and fro anyway");
    if (latency && queue_pairs > 1) p.conflict("queue_pairs", "latency is measured with one");
    if (datagrams() && size > kLargestDatagram) p.conflict("message_size", "a datagram is one packet: at most 4096 B");
    if (datagrams() && slots() > RdmaTag::kMostSlots) p.conflict("buffer", "of more than 16777216 datagrams");
    if (post_list > tx_depth) {
      p.conflict("post_list", "more than tx_depth");
      return;
    }
    // With all completions taken, up to moderation - 1 messages are still there without one. A list must fit next to
    // them, or no message moves any more.
    moderation = std::min(moderation, tx_depth - post_list + 1);
  }

  enum class Direction { one_way, each_way, both };
  bool both() const noexcept { return direction == Direction::both; }
  bool sends() const noexcept { return op == RdmaOp::send; }
  bool reads() const noexcept { return op == RdmaOp::read; }
  /// Places that messages are sent from, and received into.
  std::uint64_t slots_per_queue_pair() const noexcept {
    return latency ? 1 : std::max<std::uint64_t>(1, buffer / round_up(size, 64) / queue_pairs);
  }
  std::uint64_t slots() const noexcept { return slots_per_queue_pair() * queue_pairs; }

  /// For ports with that many legs of a bond, or planes: the network spreads queue pairs over them by chance. Where more
  /// than one was asked for, they stay as many.
  void use_all(unsigned paths) {
    constexpr unsigned kForAPath = 4;
    if (paths > 1 && queue_pairs == 1 && !latency) queue_pairs = kForAPath * paths;
  }

  bool datagrams() const noexcept { return transport == RdmaTransport::datagram; }
  /// A stream of datagrams: the number of each shows which of them came.
  bool counts_arrivals() const noexcept { return datagrams() && !latency; }

  const RdmaOp op;
  const bool latency;
  const Direction direction;
  const RdmaTransport transport;
  const std::uint64_t size;
  const double time_s;
  unsigned queue_pairs;
  const unsigned tx_depth, rx_depth, post_list;
  unsigned moderation;
  const unsigned inline_size;
  const std::uint64_t buffer;

 private:
  static constexpr std::uint64_t kLargestDatagram = 4096;

  static RdmaTransport transport_of(Params& p, RdmaOp op) {
    const std::string word = p.choice(
        "transport", "rc", {"rc", "ud", "dc"},
        "rc: reliable connections; ud: datagrams, of which some may be lost, sends alone; dc: connected when it "
        "is needed, by NVIDIA's cards");
    if (word == "dc") return RdmaTransport::dynamic;
    if (word == "rc") return RdmaTransport::reliable;
    if (op == RdmaOp::send) return RdmaTransport::datagram;
    p.conflict("transport", "datagrams are sent: there is no writing or reading by them");
    return RdmaTransport::reliable;
  }
  static Direction direction_of(const std::string& word) {
    return word == "both" ? Direction::both : word == "each_way" ? Direction::each_way : Direction::one_way;
  }
};

}  // namespace headrace::network
