#include "harness/base/system/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

namespace headrace::system {

std::vector<InterfaceAddress> interface_addresses(bool link_local) {
  std::vector<InterfaceAddress> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    const int family = i->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[INET6_ADDRSTRLEN] = "";
    const void* from = &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr;
    if (family == AF_INET6) {
      const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(&six) && !link_local) continue;
      from = &six;
    }
    ::inet_ntop(family, from, text, sizeof text);
    found.push_back({i->ifa_name, text, (i->ifa_flags & IFF_LOOPBACK) != 0});
  }
  ::freeifaddrs(list);
  return found;
}

std::vector<std::string> own_addresses(const std::string& interface) {
  std::vector<std::string> found, loopback;
  for (const InterfaceAddress& one : interface_addresses())
    if (interface.empty() || interface == one.interface) (one.loopback ? loopback : found).push_back(one.address);
  found.insert(found.end(), loopback.begin(), loopback.end());
  return found;
}

}  // namespace headrace::system
