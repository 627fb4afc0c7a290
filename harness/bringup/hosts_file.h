// Who is to be brought up, and what is known of where each stands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/bringup/posterior.h"

namespace headrace::bringup {

/// One line of a hosts file: "node01 slots=8 rack=r1 switch=s1 rail=eth1,eth2".
struct Host {
  std::string name, rack, leaf_switch;
  std::vector<std::string> rails;  // its network interface of each rail; none: whichever leads there
};

/// A host per line, '#' begins a comment; what MPI's hostfiles say of slots is read over. Throws UsageErrors with every
/// problem: "hosts.txt:3:14: ...".
std::vector<Host> read_hosts(const std::string& path);
/// The same of a text; `path` is what the problems name.
std::vector<Host> hosts_from(std::string_view text, const std::string& path);

/// Nodes in the order of `hosts`; their switches, or racks where no switch is told. `names`: of the switches.
Topology topology_of(const std::vector<Host>& hosts, std::vector<std::string>& names);

}  // namespace headrace::bringup
