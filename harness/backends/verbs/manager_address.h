// By which IP address the connection manager reaches a port.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>

#include "harness/backends/rdma.h"

namespace headrace::verbs {

struct ManagerAddress {
  std::array<std::uint8_t, 16> ip{};  // an IPv6 address, or an IPv4 one in its clothes
  std::string interface;              // of this machine
};

/// RoCE's addresses are IP addresses; an InfiniBand port has those of its IPoIB interface. `sys`: the path of /sys.
/// Throws Unsupported where it has none.
ManagerAddress manager_address(const RdmaPort& port, unsigned gid_index, const std::string& sys = "/sys");

/// With TCP-like port `service`; its length.
socklen_t to_sockaddr(const ManagerAddress& address, std::uint16_t service, sockaddr_storage& to);

}  // namespace headrace::verbs
