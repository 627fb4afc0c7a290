#include "harness/backends/verbs/manager_address.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "harness/base/error.h"

namespace headrace::verbs {
namespace {

namespace fs = std::filesystem;

long number_in(const fs::path& file) {
  std::ifstream in(file);
  long number = -1;
  in >> number;
  return number;
}

/// Is the network interface the port's, as IPoIB makes one of each InfiniBand port?
bool is_of(const std::string& interface, const RdmaPort& port, const std::string& sys) {
  const fs::path net = fs::path(sys) / "class/net" / interface,
                 device = fs::path(sys) / "class/infiniband" / port.device;
  std::error_code ignored;
  return number_in(net / "type") == ARPHRD_INFINIBAND &&
         number_in(net / "dev_port") == static_cast<long>(port.number) - 1 &&
         fs::equivalent(net / "device", device / "device", ignored);
}

std::array<std::uint8_t, 16> from(const sockaddr& address) {
  std::array<std::uint8_t, 16> bytes{};
  if (address.sa_family == AF_INET) {
    bytes[10] = bytes[11] = 0xff;
    std::memcpy(bytes.data() + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  } else {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  }
  return bytes;
}

}  // namespace

ManagerAddress manager_address(const RdmaPort& port, unsigned gid_index, const std::string& sys) {
  if (port.ethernet) {
    const auto gid =
        std::find_if(port.gids.begin(), port.gids.end(), [&](const RdmaGid& g) { return g.index == gid_index; });
    if (gid == port.gids.end()) throw RunError(fmt::format("{}: there is no GID {}", port.name(), gid_index));
    return {gid->bytes, gid->interface};
  }
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw system_error("list", "network interfaces", errno);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> held(list, ::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* i = list; i; i = i->ifa_next)
      if (i->ifa_addr && i->ifa_addr->sa_family == family && is_of(i->ifa_name, port, sys))
        return {from(*i->ifa_addr), i->ifa_name};
  throw Unsupported(fmt::format(
      "connect: rdma_cm: {} has no IP address: IPoIB gives InfiniBand ports one (modprobe ib_ipoib, ip addr "
      "add)",
      port.name()));
}

socklen_t to_sockaddr(const ManagerAddress& address, std::uint16_t service, sockaddr_storage& to) {
  to = {};
  static constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(kMapped.begin(), kMapped.end(), address.ip.begin())) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(to);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(service);
    std::memcpy(&v4.sin_addr, address.ip.data() + 12, 4);
    return sizeof v4;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(to);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(service);
  std::memcpy(&v6.sin6_addr, address.ip.data(), 16);
  if (address.ip[0] == 0xfe && (address.ip[1] & 0xc0) == 0x80)  // of one link alone
    v6.sin6_scope_id = ::if_nametoindex(address.interface.c_str());
  return sizeof v6;
}

}  // namespace headrace::verbs
