// The lines of RDMA ports, as /sys and drivers report them: legs of a bond, ports of one plug.
#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/rdma.h"
#include "harness/machine/network_links.h"

namespace headrace::network {

struct PortLine {
  unsigned paths = 1;  // a queue pair takes one: legs of a bond, or planes
  double rate = 0;     // of all its legs [B/s]; 0 = not reported
  double host = 0;     // of the card's own link to the host [B/s]; 0 = not reported
  /// The slower of them: no data can pass the card faster.
  double promised() const { return rate > 0 && host > 0 ? std::min(rate, host) : std::max(rate, host); }
};

struct PortLines {
  std::vector<PortLine> ports;
  double rate = 0;  // of all [B/s]; each plug once, whatever it has on the PCI bus; 0 = not reported
  unsigned most_paths() const {
    unsigned most = 1;
    for (const PortLine& one : ports) most = std::max(most, one.paths);
    return most;
  }
};

/// `root` is where /sys is looked for; tests lay their own.
inline PortLines lines_of(std::span<const RdmaPort* const> ports, const std::string& root = "") {
  constexpr double kXdr = 100e9;  // 800 Gbit/s of InfiniBand: up to four planes, as ConnectX-8 has
  constexpr unsigned kPlanes = 4;
  const std::vector<system::NetworkLink> links = system::network_links(root + "/sys");
  PortLines lines;
  std::set<std::string> plugs;
  for (const RdmaPort* port : ports) {
    const auto link = std::find_if(links.begin(), links.end(),
                                   [&](const system::NetworkLink& l) { return l.rdma && l.name == port->name(); });
    // A container may have the device without the bond's interface.
    const bool shows_bond = link != links.end() && link->legs > 0;
    const unsigned legs = shows_bond ? link->carrying : std::max(1u, port->lag_legs);
    PortLine& one = lines.ports.emplace_back();
    one.rate = port->rate * legs;
    one.paths = !port->ethernet && port->rate >= kXdr ? kPlanes : legs;
    if (link != links.end() && link->host_link) one.host = system::rate_of(*link->host_link);
    if (link == links.end() || link->plug.empty() || plugs.insert(link->plug).second) lines.rate += one.rate;
  }
  return lines;
}

}  // namespace headrace::network
