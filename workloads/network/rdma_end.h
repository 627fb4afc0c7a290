// One end of RDMA connections: which port and address, which NUMA node, how packets are marked; the parameters that all
// RDMA workloads have in common.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/loader.h"
#include "harness/backends/rdma.h"
#include "harness/base/skip.h"
#include "harness/network/rdma_place.h"
#include "harness/node.h"
#include "harness/params.h"
#include "harness/ranks/peer.h"
#include "harness/system/numa.h"

namespace headrace::network {

class RdmaEnd {
 public:
  explicit RdmaEnd(Params& p)
      : mtu_(static_cast<unsigned>(
            p.count("mtu", 0, {.min = 0, .max = 4096}, "payload of a packet; 0: the smaller of both ports'"))),
        device_(p.text("device", "", "RDMA device of this end, such as mlx5_0; the one that leads to the other end")),
        port_(static_cast<unsigned>(p.count("port", 0, {.min = 0, .max = 255}, "of the device; 0: the first active"))),
        gid_index_(static_cast<unsigned>(p.count("gid_index", 0, {.min = 0, .max = 65535},
                                                 "address of this end; the RoCE v2 one that leads to the other end"))),
        gid_given_(p.given("gid_index")),
        traffic_class_(static_cast<unsigned>(
            p.count("traffic_class", 0, {.min = 0, .max = 255}, "of the packets' IP headers (RoCE: DSCP * 4)"))),
        service_level_(
            static_cast<unsigned>(p.count("service_level", 0, {.min = 0, .max = 15}, "InfiniBand: virtual lane"))),
        huge_pages_(p.flag("huge_pages", true, "buffers in huge pages, where there are any")),
        numa_(choice(p)),
        patience_s_(p.seconds("peer_timeout", 10, {.min = 0.1, .max = 3600},
                              "another rank is given up when nothing came from it for so long")) {
    if (mtu_ != 0 && (mtu_ < 256 || (mtu_ & (mtu_ - 1)) != 0))
      p.conflict("mtu", "must be 0, 256, 512, 1024, 2048 or 4096");
  }

  /// Parameters that name what only this machine has.
  static constexpr std::array<std::string_view, 3> kOfThisEnd{"device", "port", "gid_index"};

  static std::optional<Skip> check(Node& node) {
    if (std::string why = node.backends().why_not(Gives::rdma); !why.empty()) return Skip{std::move(why)};
    return std::nullopt;
  }

  /// Throws as choose_rdma_place() does.
  void choose(RdmaBackend& rdma, const Ranks& ranks, const Peer* peer) {
    notes_.clear();
    rdma_ = &rdma;
    place_ = choose_rdma_place(rdma.ports(), wish(rdma, ranks, peer));
    std::string why;
    numa_node_ = choose_numa_node(numa_, place_.port->numa_node, nodes_, why);
    for (const std::string& odd : {place_.warning, why})
      if (!odd.empty()) notes_.push_back(odd);
  }
  /// `settings` as the workload wants them; what the user chose is added.
  std::unique_ptr<RdmaEndpoint> open(RdmaSettings settings) const {
    settings.gid_index = place_.gid_index;
    settings.mtu = mtu_;
    settings.traffic_class = traffic_class_;
    settings.service_level = service_level_;
    return rdma_->open(*place_.port, settings);
  }

  const RdmaPort& port() const { return *place_.port; }
  /// Of this node, counted from 0, with those that are down.
  unsigned rail() const { return static_cast<unsigned>(place_.port - rdma_->ports().data()); }
  const std::string& words() const { return place_.words; }
  const NumaNode* numa_node() const { return numa_node_; }
  /// For the thread that posts and polls: near the device, but bound to no single processor. What the kernel does for the
  /// device may run on the same one (all of soft-RoCE does), and other ranks' threads may be bound to it.
  void place_thread() const { numa_node_ ? run_on(numa_node_) : run_anywhere(); }
  bool huge_pages() const { return huge_pages_; }
  double patience_s() const { return patience_s_; }
  /// What is odd about this end, and that its port's MTU and the one of `other` differ.
  const std::vector<std::string>& notes() const { return notes_; }
  void compare_mtu(unsigned others, const std::string& other) {
    if (mtu_ == 0 && others != port().mtu)
      notes_.push_back("the ports' MTUs differ: " + std::to_string(port().mtu) + " here, " + std::to_string(others) +
                       " on " + other +
                       "; the smaller is used: set both network interfaces alike (ip link set NAME mtu 9000)");
  }

 private:
  static NumaChoice choice(Params& p) {
    const std::string word = p.choice("numa", "local", {"local", "remote", "any"},
                                      "node of buffers and thread: the device's own, the farthest from it, or any");
    return word == "local" ? NumaChoice::local : word == "remote" ? NumaChoice::remote : NumaChoice::any;
  }

  RdmaWish wish(const RdmaBackend& rdma, const Ranks& ranks, const Peer* peer) const {
    RdmaWish wish{.device = device_, .port = port_};
    if (gid_given_) wish.gid_index = gid_index_;
    if (peer) wish.local_address = peer->local_address();
    if (peer || !device_.empty()) return wish;
    // Ranks of one node share its ports out: each takes the next.
    std::vector<const RdmaPort*> active;
    for (const RdmaPort& p : rdma.ports())
      if (p.active) active.push_back(&p);
    if (active.empty()) return wish;
    const RdmaPort& mine = *active[ranks.places()[ranks.rank()].local_rank % active.size()];
    wish.device = mine.device;
    wish.port = mine.number;
    return wish;
  }

  const unsigned mtu_;
  const std::string device_;
  const unsigned port_, gid_index_;
  const bool gid_given_;
  const unsigned traffic_class_, service_level_;
  const bool huge_pages_;
  const NumaChoice numa_;
  const double patience_s_;
  RdmaBackend* rdma_ = nullptr;
  RdmaPlace place_;
  std::vector<NumaNode> nodes_ = numa_nodes();
  const NumaNode* numa_node_ = nullptr;
  std::vector<std::string> notes_;
};

}  // namespace headrace::network
