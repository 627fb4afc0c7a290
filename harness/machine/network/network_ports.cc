#include "harness/machine/network/network_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "harness/base/system/own_addresses.h"
#include "harness/machine/network_links.h"

namespace headrace {
namespace {

using system::NetworkLink;

bool better(const NetworkLink& a, const NetworkLink& b) { return a.up != b.up ? a.up : a.rate > b.rate; }

std::string gbit(double bytes_per_s) { return fmt::format("{:g} Gbit/s", bytes_per_s * 8e-9); }

}  // namespace

std::vector<NetworkPort> network_ports(const std::string& sys) {
  std::vector<NetworkLink> links = system::network_links(sys);
  std::erase_if(links, [](const NetworkLink& l) { return !l.physical || l.kind == system::kManagesSwitches; });
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

namespace {

using system::Carrier;

/// "eth10" as text in which numbers sort as numbers.
std::string sortable(const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
    if (end == i) {
      text += name[i++];
    } else {
      text += fmt::format("{:0>20}", name.substr(i, end - i));
      i = end;
    }
  }
  return text;
}

const char* in_words(Carrier carrier) {
  switch (carrier) {
    case Carrier::card:
      return "a network card";
    case Carrier::over_card:
      return "over a network card";
    case Carrier::bridge:
      return "a bridge with a network card";
    case Carrier::other:
      return "no network card behind it";
    case Carrier::stays_inside:
      return "no network card behind it, a bridge of this host alone or a dummy";
  }
  return "";
}

/// How well it serves as a rail; the best ones are. 0: never.
unsigned rank_of(const system::NetworkLink& link) {
  if (link.member || link.carrier == Carrier::stays_inside) return 0;
  return link.carrier == Carrier::other ? 1 : link.carrier == Carrier::bridge ? 2 : 3;
}

}  // namespace

RailInterfaces rails_among(const std::vector<system::NetworkLink>& links) {
  unsigned best = 1;
  for (const system::NetworkLink& link : links) best = std::max(best, rank_of(link));
  RailInterfaces found;
  for (const system::NetworkLink& link : links)
    if (rank_of(link) == best)
      found.names.push_back(link.name);
    else if (!link.member)
      found.left_out.push_back(fmt::format("{} ({})", link.name, in_words(link.carrier)));
  std::sort(found.names.begin(), found.names.end(),
            [](const std::string& a, const std::string& b) { return sortable(a) < sortable(b); });
  return found;
}

RailInterfaces rail_interfaces(const std::string& wanted) {
  RailInterfaces named;
  for (std::size_t i = 0; i < wanted.size();) {
    const std::size_t end = std::min(wanted.find_first_of(", ", i), wanted.size());
    if (end > i) named.names.push_back(wanted.substr(i, end - i));
    i = end + 1;
  }
  if (!named.names.empty()) return named;
  std::vector<system::NetworkLink> links = system::network_links();
  std::erase_if(links, [](const system::NetworkLink& link) {
    return link.rdma || link.state == "down" || system::own_addresses(link.name).empty();
  });
  return rails_among(links);
}

}  // namespace headrace
