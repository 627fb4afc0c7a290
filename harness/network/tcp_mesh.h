// TCP connections between the ranks of a team, each pair with several streams, made with deadlines
// that name the pair.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/ranks.h"

namespace headrace {

/// Network interfaces of this host, one a rail: those of `wanted` ("eth0, eth1"), in that order; of
/// "" all that are up and have an address, only those with a device behind them where there are
/// any, in the order of their names with numbers as numbers (eth2 before eth10).
std::vector<std::string> rail_interfaces(const std::string& wanted);

/// Sockets to the partners of one rank. Blocking, each call on them limited to 0.2 s (EAGAIN then),
/// so that who uses them can look whether to stop.
class TcpMesh {
 public:
  struct Options {
    unsigned streams = 1;      // of each pair
    std::uint64_t buffer = 0;  // SO_SNDBUF, SO_RCVBUF [B]; 0 = the kernel chooses
    std::string interface;     // "eth1": its address is used; "" = any that answers
    bool bind = false;         // nothing comes or goes but by `interface`, whatever routes say
    double timeout_s = 10;     // for all connections together
  };
  /// Called by all of `team` together. `pairs`: of team indices, which are to be connected; the
  /// same for all. Throws RanksError or RunError: which pair cannot be connected, at which address,
  /// and why.
  TcpMesh(Ranks& ranks, const std::vector<unsigned>& team, const std::vector<std::pair<unsigned, unsigned>>& pairs,
          const Options& options);
  ~TcpMesh();
  TcpMesh(const TcpMesh&) = delete;

  /// The socket to team member `partner`.
  int socket(unsigned partner, unsigned stream) const { return sockets_.at(partner).at(stream); }
  /// "10.78.0.3": where the partner is reached.
  const std::string& address(unsigned partner) const { return addresses_.at(partner); }

 private:
  std::map<unsigned, std::vector<int>> sockets_;
  std::map<unsigned, std::string> addresses_;
};

}  // namespace headrace
