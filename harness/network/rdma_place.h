// Which RDMA port to use, and under which of its addresses it talks to the other end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "harness/backends/rdma.h"

namespace headrace {

/// What the user asks for, and what is known of the way to the other end.
struct RdmaWish {
  std::string device{};                 // "mlx5_0"; "" = whichever leads to the other end
  unsigned port = 0;                    // 0 = the first that is active
  std::optional<unsigned> gid_index{};  // none: the best one
  std::string local_address{};          // of this machine, by which the other end reaches it; "" = not known
};

struct RdmaPlace {
  const RdmaPort* port = nullptr;
  unsigned gid_index = 0;
  std::string words;    // "mlx5_0/1, GID 3 (RoCE v2, 10.0.0.1, eth2), MTU 4096"
  std::string warning;  // what is odd about it, with what to do; ""
};

/// The port asked for; else the one that has the local address; else the first that is active. Of its GIDs the one
/// asked for; else, on RoCE, the one of version 2 (which routers pass on) with the local address, else with an IPv4
/// address, else with a global IPv6 address, else any; on InfiniBand the first.
/// Throws Unsupported when no port is active, RunError when what was asked for is not there or is down; both say what
/// there is.
RdmaPlace choose_rdma_place(std::span<const RdmaPort> ports, const RdmaWish& wish);

/// "10.0.0.1", "fe80::1".
std::string gid_text(const RdmaGid& gid);

}  // namespace headrace
