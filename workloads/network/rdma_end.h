// One end of RDMA connections: which ports and addresses, which NUMA nodes, how packets are marked. The parameters that
// all RDMA workloads have in common.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/backends/loader.h"
#include "harness/backends/rdma.h"
#include "harness/base/footprint.h"
#include "harness/machine/network/nccl_settings.h"
#include "harness/machine/network/rdma_place.h"
#include "harness/machine/node.h"
#include "harness/machine/numa.h"
#include "harness/machine/pci_path.h"
#include "harness/record/params.h"
#include "harness/record/ranks/peer.h"

namespace headrace::network {

class RdmaEnd {
 public:
  explicit RdmaEnd(Params& p)
      : mtu_(static_cast<unsigned>(
            p.count("mtu", 0, {.min = 0, .max = 4096}, "payload of a packet; 0: the smaller of both ports'"))),
        device_(p.text(
            "device", "",
            "RDMA devices of this end, as NCCL_IB_HCA names them: mlx5_0,mlx5_3:1, or ^mlx5_1 for all others. Ranks of "
            "a node take them in turn. Default: NCCL_IB_HCA, else all ports of the most frequent link and rate, in PCI "
            "order")),
        port_(static_cast<unsigned>(p.count("port", 0, {.min = 0, .max = 255}, "of the device; 0: any"))),
        gid_index_(static_cast<unsigned>(
            p.count("gid_index", 0, {.min = 0, .max = 65535},
                    "address of this end; NCCL_IB_GID_INDEX, else the RoCE v2 one that leads to the "
                    "other end"))),
        gid_given_(p.given("gid_index")),
        traffic_class_(
            static_cast<unsigned>(p.count("traffic_class", 0, {.min = 0, .max = 255},
                                          "of the packets' IP headers (RoCE: DSCP * 4); NCCL_IB_TC where it is set"))),
        class_given_(p.given("traffic_class")),
        flow_label_(static_cast<unsigned>(p.count("flow_label", 0, {.min = 0, .max = 0xfffff},
                                                  "of the route; RoCE: chooses the UDP source port, by which switches "
                                                  "spread connections"))),
        partition_(partition(p)),
        managed_(p.choice("connect", "exchange", {"exchange", "rdma_cm"},
                          "exchange: as both ends agree; rdma_cm: by the kernel's connection manager, to the "
                          "port's IP address, which chooses the route") == "rdma_cm"),
        service_level_(static_cast<unsigned>(p.count("service_level", 0, {.min = 0, .max = 15},
                                                     "InfiniBand: virtual lane; NCCL_IB_SL where it is set"))),
        level_given_(p.given("service_level")),
        huge_pages_(p.flag("huge_pages", true, "buffers in huge pages, where there are any")),
        numa_(choice(p)),
        patience_s_(p.seconds("peer_timeout", 10, {.min = 0.1, .max = 3600},
                              "another rank is given up when it was silent for this long")) {
    if (managed_ && (flow_label_ != 0 || partition_ != 0 || service_level_ != 0))
      p.conflict("connect", "rdma_cm chooses flow label, partition and service level by itself");
    if (mtu_ != 0 && (mtu_ < 256 || (mtu_ & (mtu_ - 1)) != 0))
      p.conflict("mtu", "must be 0, 256, 512, 1024, 2048 or 4096");
  }

  /// Parameters that name parts of this machine.
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
    std::vector<std::string> before;
    for (wish.turn = 0; wish.turn < turns; ++wish.turn)
      before.push_back(choose_rdma_place(rdma.ports(), wish).port->pci_address);
    ways_.clear();
    notes_.clear();
    add(choose_rdma_place(rdma.ports(), wish), before);
  }
  /// This rank's share of its node's ports, at most `most` of them; 0 = all. Throws as choose_rdma_places() does.
  void choose_several(RdmaBackend& rdma, const Ranks& ranks, const Peer* peer, unsigned most) {
    rdma_ = &rdma;
    unsigned share = 0, shares = 1;
    if (!peer) {
      const RankPlace& own = ranks.places()[ranks.rank()];
      share = own.local_rank;
      shares = static_cast<unsigned>(std::count_if(ranks.places().begin(), ranks.places().end(),
                                                   [&](const RankPlace& p) { return p.node == own.node; }));
    }
    std::vector<std::string> before;
    for (unsigned s = 0; s < share; ++s) try {
        for (const RdmaPlace& place : choose_rdma_places(rdma.ports(), wish(nullptr), s, shares, most))
          before.push_back(place.port->pci_address);
      } catch (const Unsupported&) {  // none of its ports is active: that rank reports it
      }
    ways_.clear();
    notes_.clear();
    for (RdmaPlace& place : choose_rdma_places(rdma.ports(), wish(nullptr), share, shares, most)) {
      add(std::move(place), before);
      before = ways_.back().ports_before;
    }
  }
  /// Ports that were chosen; the calls below are of the one at that place among them.
  std::size_t ways() const { return ways_.size(); }
  /// The one of `gpus` whose data goes by it.
  unsigned near_gpu(GpuBackend& gpus, std::size_t way = 0) const {
    std::vector<std::string> addresses;
    for (unsigned i = 0; i < gpus.count(); ++i) addresses.push_back(gpus.gpu(i).facts().pci_address);
    return static_cast<unsigned>(nearest_gpu(ways_[way].ports_before, addresses));
  }
  /// `settings` as the workload wants them; what the user chose is added.
  std::unique_ptr<RdmaEndpoint> open(RdmaSettings settings, std::size_t way = 0) const {
    settings.gid_index = ways_[way].place.gid_index;
    settings.partition_index = ways_[way].place.partition_index;
    settings.managed = managed_;
    settings.flow_label = flow_label_;
    settings.mtu = mtu_;
    settings.traffic_class = class_given_ ? traffic_class_ : nccl_.traffic_class.value_or(traffic_class_);
    settings.service_level = level_given_ || managed_ ? service_level_ : nccl_.service_level.value_or(service_level_);
    if (partition_ == 0 && !managed_ && nccl_.partition_index) settings.partition_index = *nccl_.partition_index;
    return rdma_->open(port(way), settings);
  }

  const RdmaPort& port(std::size_t way = 0) const { return *ways_[way].place.port; }
  /// The rail on this node, counted from 0, with those that are down.
  unsigned rail(std::size_t way = 0) const { return ways_[way].place.rail; }
  /// Among those that this rank drives, with those that are down.
  unsigned slot(std::size_t way) const { return ways_[way].place.slot; }
  const std::string& words(std::size_t way = 0) const { return ways_[way].place.words; }
  const NumaNode* numa_node(std::size_t way = 0) const { return ways_[way].numa; }
  /// For the thread that posts and polls: near the device, but bound to no single processor. The kernel's work for the
  /// device may run on the same one (all of soft-RoCE does). Other ranks' threads may be bound to it.
  void place_thread(std::size_t way = 0) const { numa_node(way) ? run_on(numa_node(way)) : run_anywhere(); }
  bool managed() const { return managed_; }
  bool huge_pages() const { return huge_pages_; }
  double patience_s() const { return patience_s_; }
  /// Oddities of this end, and that its port's MTU and the one of `other` differ.
  const std::vector<std::string>& notes() const { return notes_; }
  void compare_mtu(unsigned others, const std::string& other, std::size_t way = 0) {
    if (mtu_ == 0 && others != port(way).mtu)
      notes_.push_back("the ports' MTUs differ: " + std::to_string(port(way).mtu) + " here, " + std::to_string(others) +
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

  /// A port, its NUMA node, and the PCI addresses of the node's ports that ranks take up to this one.
  struct Way {
    RdmaPlace place;
    const NumaNode* numa = nullptr;
    std::vector<std::string> ports_before;
  };

  void add(RdmaPlace place, std::vector<std::string> before) {
    before.push_back(place.port->pci_address);
    for (const std::string& one : {place.chosen, nccl_.words.empty() ? "" : "marked as NCCL does: " + nccl_.words})
      if (!one.empty() && std::find(notes_.begin(), notes_.end(), one) == notes_.end()) notes_.push_back(one);
    notes_.insert(notes_.end(), place.notes.begin(), place.notes.end());
    std::string why;
    const NumaNode* numa = choose_numa_node(numa_, place.port->numa_node, nodes_, why);
    if (!why.empty() && std::find(notes_.begin(), notes_.end(), why) == notes_.end()) notes_.push_back(why);
    ways_.push_back({std::move(place), numa, std::move(before)});
  }

  RdmaWish wish(const Peer* peer) const {
    RdmaWish wish{.device = device_, .port = port_, .partition = partition_};
    if (gid_given_) wish.gid_index = gid_index_;
    wish.roce_gid_index = nccl_.roce_gid_index;
    if (peer) wish.local_address = peer->local_address();
    return wish;
  }

  const unsigned mtu_;
  const std::string device_;
  const unsigned port_, gid_index_;
  const bool gid_given_;
  const unsigned traffic_class_;
  const bool class_given_;
  const unsigned flow_label_;
  const std::uint16_t partition_;
  const bool managed_;
  const unsigned service_level_;
  const bool level_given_;
  const bool huge_pages_;
  const NumaChoice numa_;
  const double patience_s_;
  const NcclRdma nccl_ = nccl_rdma();  // the defaults of unset parameters
  RdmaBackend* rdma_ = nullptr;
  std::vector<Way> ways_;
  std::vector<NumaNode> nodes_ = numa_nodes();
  std::vector<std::string> notes_;
};

}  // namespace headrace::network
