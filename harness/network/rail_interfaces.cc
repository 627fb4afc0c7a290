#include "harness/network/rail_interfaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "harness/system/network_links.h"
#include "harness/system/own_addresses.h"

namespace headrace {
namespace {

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

}  // namespace

std::vector<std::string> rail_interfaces(const std::string& wanted) {
  std::vector<std::string> names, with_device;
  for (std::size_t i = 0; i < wanted.size();) {
    const std::size_t end = std::min(wanted.find_first_of(", ", i), wanted.size());
    if (end > i) names.push_back(wanted.substr(i, end - i));
    i = end + 1;
  }
  if (!names.empty()) return names;
  for (const system::NetworkLink& link : system::network_links()) {
    if (link.rdma || link.state == "down" || system::own_addresses(link.name).empty()) continue;
    names.push_back(link.name);
    if (link.physical) with_device.push_back(link.name);
  }
  if (!with_device.empty()) names = with_device;
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return sortable(a) < sortable(b); });
  return names;
}

}  // namespace headrace
