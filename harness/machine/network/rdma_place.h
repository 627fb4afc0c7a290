// Which RDMA port to use, and under which of its addresses it talks to the other end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/rdma.h"

namespace headrace {

/// The user's wishes, and facts on the path to the other end.
struct RdmaWish {
  std::string device{};                      // "mlx5_0", or a list of them as rdma_rails() reads it; "" = any
  unsigned port = 0;                         // number at its device; 0 = any
  unsigned turn = 0;                         // which of a node's ports: its ranks share them out
  std::optional<unsigned> gid_index{};       // none: the best one
  std::optional<unsigned> roce_gid_index{};  // where none is asked for, on RoCE
  std::string local_address{};               // of this machine, by which the other end reaches it; "" = not known
  std::uint16_t partition = 0;               // P_Key; 0 = the port's first
  std::vector<std::string> near{};  // the way to a PCI device that the port is to be near (pci_path()); {} = none
  std::string sys_root{};           // the path of /sys; tests set their own
};

struct RdmaPlace {
  const RdmaPort* port = nullptr;
  unsigned rail = 0;  // its place among the ports of the node that RDMA goes by, with those that are down
  unsigned slot = 0;  // its place among those that its rank drives, with those that are down
  unsigned gid_index = 0;
  unsigned partition_index = 0;
  std::string words;               // "mlx5_0/1, GID 3 (RoCE v2, 10.0.0.1, eth2), MTU 4096, 400 Gbit/s"
  std::string chosen{};            // by which of NCCL's settings; "" = by none
  std::vector<std::string> notes;  // oddities of it or the node's other ports, with the next step
};

/// The active port of rdma_rails() with the local address. Else the nearest to `near`. Else the one whose turn it is.
/// Its requested GID. Else, on RoCE, one of version 2 (which routers pass on) with the local address. Else with an IPv4
/// address, with a global IPv6 address, or any. On InfiniBand the first. Throws Unsupported when no port is active,
/// RunError when the requested one does not exist or is down. Both list the existing ones.
RdmaPlace choose_rdma_place(std::span<const RdmaPort> ports, const RdmaWish& wish);

/// The ports that one of a node's ranks drives at once. They are the `share`-th of `shares` equal parts of the node's
/// rails, at most `most` (0 = all), as in choose_rdma_place(). Where there are more ranks than ports, ranks share one.
/// A port that is down is left out, and keeps its slot. The wish's address, turn and nearness are not looked at. Throws
/// as choose_rdma_place() does, when none of them is active.
std::vector<RdmaPlace> choose_rdma_places(std::span<const RdmaPort> ports, const RdmaWish& wish, unsigned share,
                                          unsigned shares, unsigned most);

/// Which of `gpus` holds the data of a node's last rank: the one nearest to its port. Of as near
/// ones the one that the fewest ranks before it took. `ports`: of each of them, its own last. All are PCI addresses.
std::size_t nearest_gpu(std::span<const std::string> ports, std::span<const std::string> gpus,
                        const std::string& sys_root = "");

/// "10.0.0.1", "fe80::1".
std::string gid_text(const RdmaGid& gid);

}  // namespace headrace
