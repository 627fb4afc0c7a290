#include "harness/bringup/blame/topology.h"

#include <algorithm>

#include "harness/bringup/rails.h"

namespace headrace::bringup {
namespace {

/// The leaf switch of each node; none where no node has any.
std::vector<unsigned> switches_of(Record& record) {
  std::vector<unsigned> all;
  std::vector<std::string>& names = record.switches;
  names.clear();
  const bool any_switch = std::any_of(record.nodes.begin(), record.nodes.end(),
                                      [](const NodeRecord& node) { return !node.host.leaf_switch.empty(); });
  for (const NodeRecord& node : record.nodes) {
    const Host& host = node.host;
    const std::string name = any_switch          ? host.leaf_switch.empty() ? "" : "switch " + host.leaf_switch
                             : host.rack.empty() ? ""
                                                 : "rack " + host.rack;
    if (name.empty()) {
      all.push_back(kNoSwitch);
      continue;
    }
    const auto at = std::find(names.begin(), names.end(), name);
    all.push_back(static_cast<unsigned>(at - names.begin()));
    if (at == names.end()) names.push_back(name);
  }
  if (names.empty()) all.clear();
  return all;
}

}  // namespace

std::vector<Topology> topologies_of(Record& record) {
  const auto nodes = static_cast<unsigned>(record.nodes.size());
  const unsigned by_tcp = tcp_rails(record), all = rails(record);
  std::vector<Topology> networks{{.nodes = nodes, .rails = by_tcp, .switch_of = switches_of(record)}};
  if (all == by_tcp) return networks;
  Topology& rdma = networks.emplace_back(networks.front());
  rdma.rails = all - by_tcp;
  for (unsigned node = 0; node < nodes; ++node)
    for (unsigned rail = by_tcp; rail < all; ++rail)
      if (!has_rail(record, node, rail)) rdma.absent.insert((rail - by_tcp) * nodes + node);
  return networks;
}

void take_away(std::vector<Topology>& networks, unsigned node, unsigned rail) {
  for (Topology& network : networks) {
    if (rail < network.rails) {
      network.absent.insert(rail * network.nodes + node);
      return;
    }
    rail -= network.rails;
  }
}

}  // namespace headrace::bringup
