// Connections by the kernel's connection manager (rdma_cm). It resolves an IP address, and gets the route from the
// fabric's subnet manager if there is one.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "harness/backends/rdma.h"

namespace headrace::verbs {

/// A queue pair, and the number of the one at the other end.
struct ManagedPair {
  ibv_qp* queue;
  std::uint32_t others_number;
};

struct ManagedTerms {
  unsigned reads = 0;  // in flight
  unsigned mtu = 0;    // at most
  unsigned traffic_class = 0;
  std::uint8_t timeout = 14;
};

/// Listens on an IP address of its port for as long as it lives, and holds the connections.
class ConnectionManager {
 public:
  virtual ~ConnectionManager() = default;
  /// Where others ask for a connection: an IPv6 address, or an IPv4 one in its clothes, and a port.
  virtual std::array<std::uint8_t, 16> ip() const = 0;
  virtual std::uint16_t service() const = 0;
  /// Connects each pair; the end that `asks` begins, the other one answers. The MTU that the route has [B].
  /// Throws RunError.
  virtual unsigned connect(std::span<const ManagedPair> pairs, const RdmaAddress& other, bool asks,
                           const ManagedTerms& terms) = 0;
};

/// For connections by `port`. Throws Unsupported where there is no librdmacm, or the port has no IP address.
std::unique_ptr<ConnectionManager> make_connection_manager(const RdmaPort& port, unsigned gid_index);

}  // namespace headrace::verbs
