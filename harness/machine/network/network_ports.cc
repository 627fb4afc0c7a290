#include "harness/machine/network/network_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/machine/network_links.h"

namespace headrace {
namespace {

using system::NetworkLink;

bool better(const NetworkLink& a, const NetworkLink& b) { return a.up != b.up ? a.up : a.rate > b.rate; }

std::string gbit(double bytes_per_s) { return fmt::format("{:g} Gbit/s", bytes_per_s * 8e-9); }

}  // namespace

std::vector<NetworkPort> network_ports(const std::string& sys) {
  std::vector<NetworkLink> links = system::network_links(sys);
  std::erase_if(links, [](const NetworkLink& l) { return !l.physical; });
  if (std::any_of(links.begin(), links.end(), [](const NetworkLink& l) { return l.rdma; }))
    std::erase_if(links, [](const NetworkLink& l) { return !l.rdma; });
  std::vector<const NetworkLink*> one_of_each;
  for (const NetworkLink& link : links) {
    const auto same = std::find_if(one_of_each.begin(), one_of_each.end(),
                                   [&](const NetworkLink* l) { return l->plug == link.plug; });
    if (same == one_of_each.end())
      one_of_each.push_back(&link);
    else if (better(link, **same))
      *same = &link;
  }
  std::vector<NetworkPort> ports;
  for (const NetworkLink* link : one_of_each) ports.push_back({link->name, link->rdma, link->up, link->rate});
  return ports;
}

PortCount count_ports(std::span<const NodePorts> nodes, double rate) {
  PortCount count{.fewest = 0, .rate = rate, .unknown = "", .do_not_count = ""};
  const bool asked = rate > 0;
  for (const auto& [host, ports] : nodes) {
    if (ports.empty()) count.unknown = host + " shows no port of a network card; inside a container look from the host";
    for (const NetworkPort& port : ports) {
      if (port.up && port.rate == 0)
        count.unknown = fmt::format("the rate of {} of {} is not reported, as with virtual cards", port.name, host);
      if (port.up && !asked) count.rate = std::max(count.rate, port.rate);
    }
    if (!count.unknown.empty()) return count;
  }
  bool first = true;
  for (const auto& [host, ports] : nodes) {
    unsigned fast = 0;
    std::string others;
    for (const NetworkPort& port : ports) {
      constexpr double kRounding = 1e-9;
      if (port.up && port.rate >= count.rate * (1 - kRounding)) {
        ++fast;
        continue;
      }
      others += (others.empty() ? "" : ", ") + port.name +
                (port.up ? " runs at " + gbit(port.rate) : std::string(" is down"));
    }
    count.fewest = first ? fast : std::min(count.fewest, fast);
    first = false;
    if (!others.empty()) count.do_not_count += (count.do_not_count.empty() ? "" : "; ") + host + ": " + others;
  }
  return count;
}

}  // namespace headrace
