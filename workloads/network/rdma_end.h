// One end of RDMA connections: which port and address, which NUMA node, how packets are marked; the parameters that all
// RDMA workloads have in common.
#pragma once

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/backends/loader.h"
#include "harness/backends/rdma.h"
#include "harness/base/skip.h"
#include "harness/network/rdma_place.h"
#include "harness/node.h"
#include "harness/params.h"
#include "harness/ranks/peer.h"
#include "harness/system/numa.h"
#include "harness/system/pci_path.h"

namespace headrace::network {

class RdmaEnd {
 public:
  explicit RdmaEnd(Params& p)
      : mtu_(static_cast<unsigned>(
            p.count("mtu", 0, {.min = 0, .max = 4096}, "payload of a packet; 0: the smaller of both ports'"))),
        device_(
            p.text("device", "",
                   "RDMA devices of this end, as NCCL_IB_HCA names them: mlx5_0,mlx5_3:1, or ^mlx5_1 for all others; "
                   "ranks of a node take them in turn; all of the link and rate that most ports have, in PCI order")),
        port_(static_cast<unsigned>(p.count("port", 0, {.min = 0, .max = 255}, "of the device; 0: any"))),
        gid_index_(static_cast<unsigned>(p.count("gid_index", 0, {.min = 0, .max = 65535},
                                                 "address of this end; the RoCE v2 one that leads to the other end"))),
        gid_given_(p.given("gid_index")),
        traffic_class_(static_cast<unsigned>(
            p.count("traffic_class", 0, {.min = 0, .max = 255}, "of the packets' IP headers (RoCE: DSCP * 4)"))),
        flow_label_(static_cast<unsigned>(p.count("flow_label", 0, {.min = 0, .max = 0xfffff},
                                                  "of the route; RoCE: chooses the UDP source port, by which switches "
                                                  "spread connections"))),
        partition_(partition(p)),
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
  static constexpr std::array<std::string_view, 4> kOfThisEnd{"device", "port", "gid_index", "gpu"};

  static std::optional<Skip> check(Node& node) {
    if (std::string why = node.backends().why_not(Gives::rdma); !why.empty()) return Skip{std::move(why)};
    return std::nullopt;
  }

  /// `only_gpu`: the PCI address of the only GPU that this process sees, where it moves that one's data; "" = none.
  /// Throws as choose_rdma_place() does.
  void choose(RdmaBackend& rdma, const Ranks& ranks, const Peer* peer, const std::string& only_gpu = "") {
    rdma_ = &rdma;
    RdmaWish wish = this->wish(peer);
    wish.near = system::pci_path(only_gpu);
    const unsigned turns = peer ? 0 : ranks.places()[ranks.rank()].local_rank;
    ports_before_.clear();
    for (wish.turn = 0; wish.turn < turns; ++wish.turn)
      ports_before_.push_back(choose_rdma_place(rdma.ports(), wish).port->pci_address);
    place_ = choose_rdma_place(rdma.ports(), wish);
    ports_before_.push_back(place_.port->pci_address);
    notes_ = place_.notes;
    std::string why;
    numa_node_ = choose_numa_node(numa_, place_.port->numa_node, nodes_, why);
    if (!why.empty()) notes_.push_back(why);
  }
  /// Of `gpus` the one that this rank is to move data of.
  unsigned near_gpu(GpuBackend& gpus) const {
    std::vector<std::string> addresses;
    for (unsigned i = 0; i < gpus.count(); ++i) addresses.push_back(gpus.gpu(i).facts().pci_address);
    return static_cast<unsigned>(nearest_gpu(ports_before_, addresses));
  }
  /// `settings` as the workload wants them; what the user chose is added.
  std::unique_ptr<RdmaEndpoint> open(RdmaSettings settings) const {
    settings.gid_index = place_.gid_index;
    settings.partition_index = place_.partition_index;
    settings.flow_label = flow_label_;
    settings.mtu = mtu_;
    settings.traffic_class = traffic_class_;
    settings.service_level = service_level_;
    return rdma_->open(*place_.port, settings);
  }

  const RdmaPort& port() const { return *place_.port; }
  /// Of this node, counted from 0, with those that are down.
  unsigned rail() const { return place_.rail; }
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

  /// "0x8001" as a number; 0: none was asked for.
  static std::uint16_t partition(Params& p) {
    const std::string text = p.text("partition", "", "InfiniBand partition (P_Key), such as 0x8001; the port's first");
    char* end = nullptr;
    const unsigned long key = std::strtoul(text.c_str(), &end, 0);
    if (!text.empty() && (*end != '\0' || key == 0 || key > 0xffff))
      p.conflict("partition", "must be a P_Key from 0x0001 to 0xffff");
    return static_cast<std::uint16_t>(key);
  }

  RdmaWish wish(const Peer* peer) const {
    RdmaWish wish{.device = device_, .port = port_, .partition = partition_};
    if (gid_given_) wish.gid_index = gid_index_;
    if (peer) wish.local_address = peer->local_address();
    return wish;
  }

  const unsigned mtu_;
  const std::string device_;
  const unsigned port_, gid_index_;
  const bool gid_given_;
  const unsigned traffic_class_, flow_label_;
  const std::uint16_t partition_;
  const unsigned service_level_;
  const bool huge_pages_;
  const NumaChoice numa_;
  const double patience_s_;
  RdmaBackend* rdma_ = nullptr;
  RdmaPlace place_;
  std::vector<std::string> ports_before_;  // PCI addresses: of the node's ranks up to this one
  std::vector<NumaNode> nodes_ = numa_nodes();
  const NumaNode* numa_node_ = nullptr;
  std::vector<std::string> notes_;
};

}  // namespace headrace::network
