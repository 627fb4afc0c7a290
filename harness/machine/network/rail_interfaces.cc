#include "harness/machine/network/rail_interfaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "harness/base/system/own_addresses.h"

namespace headrace {
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
