#include "harness/bringup/topology.h"

#include <algorithm>

#include "harness/bringup/rails.h"

namespace headrace::bringup {

Topology topology_of(Record& record) {
  const auto nodes = static_cast<unsigned>(record.nodes.size());
  Topology topology{.nodes = nodes, .rails = rails(record), .switch_of = {}, .rdma_rails = rdma_rails(record)};
  for (unsigned node = 0; node < nodes; ++node)
    for (unsigned rail = tcp_rails(record); rail < topology.rails; ++rail)
      if (!has_rail(record, node, rail)) topology.absent.insert(rail * nodes + node);
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
      topology.switch_of.push_back(kNoSwitch);
      continue;
    }
    const auto at = std::find(names.begin(), names.end(), name);
    topology.switch_of.push_back(static_cast<unsigned>(at - names.begin()));
    if (at == names.end()) names.push_back(name);
  }
  if (names.empty()) topology.switch_of.clear();
  return topology;
}

}  // namespace headrace::bringup
