// The ports by which a node reaches others, each plug once, as counted by a job's number of NICs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/machine/network_links.h"

namespace headrace {

struct NetworkPort {
  std::string name;  // "mlx5_0/1", "eth0"
  bool rdma = false;
  bool up = false;
  double rate = 0;  // [B/s], one way; 0 = not reported
};

/// RDMA ports where there are any, else Ethernet interfaces; only those of a card. `sys` is where
/// /sys is. Never throws.
std::vector<NetworkPort> network_ports(const std::string& sys = "/sys");

/// The ports of one node.
struct NodePorts {
  std::string host;
  std::vector<NetworkPort> ports;
};

/// How many ports of each node are up and fast.
struct PortCount {
  unsigned fewest = 0;       // of any node
  double rate = 0;           // that was asked for; else of the fastest port of all nodes
  std::string unknown;       // not "": why it cannot be reported, and nothing above holds
  std::string do_not_count;  // "node3: mlx5_2/1 is down, mlx5_3/1 runs at 100 Gbit/s"; "" = all do
};
/// `rate` [B/s]: from which on a port counts; 0 = as fast as the fastest one that is up.
PortCount count_ports(std::span<const NodePorts> nodes, double rate);

// Which network interfaces of this host are its rails.

struct RailInterfaces {
  std::vector<std::string> names;     // one a rail
  std::vector<std::string> left_out;  // "docker0 (a bridge without a network card)"
};

/// Network interfaces of this host: those of `wanted` ("eth0, eth1"), in that order. Of "" those rails_among() chooses
/// of all that are up and have an address.
RailInterfaces rail_interfaces(const std::string& wanted);

/// Cards, and bonds, teams, VLANs, macvlans and ipvlans over cards. Where there are none, bridges with a card. Where
/// there are none of these either, as in a container, all but bridges without a card and dummies. Members of a bond or
/// a bridge are none. In the order of their names, with numbers as numbers (eth2 before eth10).
RailInterfaces rails_among(const std::vector<system::NetworkLink>& links);

}  // namespace headrace
