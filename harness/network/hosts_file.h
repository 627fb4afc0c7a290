// The hosts of a cluster, and what is known of where each stands.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// One line of a hosts file: "node01 slots=8 rack=r1 switch=s1 rail=eth1,eth2 pdu=p4".
struct Host {
  std::string name, rack, leaf_switch;
  std::vector<std::string> rails;               // its network interface of each rail; none: whichever leads there
  std::map<std::string, std::string> others{};  // "pdu": whatever else may be shared

  /// What it may share with others: rack, switch and the rest.
  std::map<std::string, std::string> attributes() const;
};

/// A host per line, '#' begins a comment; what MPI's hostfiles say of slots is read over. Throws UsageErrors with every
/// problem: "hosts.txt:3:14: ...".
std::vector<Host> read_hosts(const std::string& path);
/// The same of a text; `path` is what the problems name.
std::vector<Host> hosts_from(std::string_view text, const std::string& path);

/// Why this can be no host's name, which goes into commands: of headrace's launcher, of schedulers; "" where it can.
std::string wrong_name(std::string_view name);

}  // namespace headrace
