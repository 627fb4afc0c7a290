#include "harness/bringup/topology.h"

#include <algorithm>

namespace headrace::bringup {

Topology topology_of(const std::vector<Host>& hosts, std::vector<std::string>& names) {
  Topology topology{static_cast<unsigned>(hosts.size()), 1, {}};
  names.clear();
  for (const Host& host : hosts) topology.rails = std::max(topology.rails, static_cast<unsigned>(host.rails.size()));
  const bool any_switch = std::any_of(hosts.begin(), hosts.end(), [](const Host& h) { return !h.leaf_switch.empty(); });
  for (const Host& host : hosts) {
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
