// Which RDMA port to use, and under which of its addresses it talks to the other end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/rdma.h"

namespace headrace {

/// What the user asks for, and what is known of the way to the other end.
struct RdmaWish {
  std::string device{};                      // "mlx5_0", or a list of them as rdma_rails() reads it; "" = any
  unsigned port = 0;                         // number at its device; 0 = any
  unsigned turn = 0;                         // which of a node's ports: its ranks share them out
  std::optional<unsigned> gid_index{};       // none: the best one
  std::optional<unsigned> roce_gid_index{};  // where none is asked for, on RoCE
  std::string local_address{};               // of this machine, by which the other end reaches it; "" = not known
  std::uint16_t partition = 0;               // P_Key; 0 = the port's first
  std::vector<std::string> near{};  // the way to a PCI device that the port is to be near (pci_path()); {} = none
  std::string sys_root{};           // where /sys is looked for; tests lay their own
};

struct RdmaPlace {
  const RdmaPort* port = nullptr;
  unsigned rail = 0;  // its place among the ports of the node that RDMA goes by, with those that are down
  unsigned slot = 0;  // its place among those that its rank drives, with those that are down
  unsigned gid_index = 0;
  unsigned partition_index = 0;
  std::string words;               // "mlx5_0/1, GID 3 (RoCE v2, 10.0.0.1, eth2), MTU 4096, 400 Gbit/s"
  std::string chosen{};            // by which of NCCL's settings; "" = by none
  std::vector<std::string> notes;  // what is odd about it or the node's other ports, with what to do
};

/// Of the active ports that rdma_rails() gives the one that has the local address; else the nearest to `near`; else the one
/// whose turn it is. Of its GIDs the one
/// asked for; else, on RoCE, the one of version 2 (which routers pass on) with the local address, else with an IPv4
/// address, else with a global IPv6 address, else any; on InfiniBand the first.
/// Throws Unsupported when no port is active, RunError when what was asked for is not there or is down; both say what
/// there is.
RdmaPlace choose_rdma_place(std::span<const RdmaPort> ports, const RdmaWish& wish);

/// The ports that one of a node's ranks drives at once: of the node's rails the `share`-th of `shares` equal parts, at most
/// `most` of them (0 = all), each as choose_rdma_place() takes it; where there are more ranks than ports, ranks share one.
/// A port that is down is left out, and keeps its slot. The wish's address, turn and nearness are not looked at.
/// Throws as choose_rdma_place() does, when none of them is active.
std::vector<RdmaPlace> choose_rdma_places(std::span<const RdmaPort> ports, const RdmaWish& wish, unsigned share,
                                          unsigned shares, unsigned most);

/// Which of `gpus` the last of a node's ranks moves data of: the one that shares most of the way with its port; of as near
/// ones the one that the fewest ranks before it took. `ports`: of each of them, its own last. All are PCI addresses.
std::size_t nearest_gpu(std::span<const std::string> ports, std::span<const std::string> gpus,
                        const std::string& sys_root = "");

/// "10.0.0.1", "fe80::1".
std::string gid_text(const RdmaGid& gid);

}  // namespace headrace
