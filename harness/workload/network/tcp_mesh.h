// TCP connections between the ranks of a team, each pair with several streams, made with deadlines
// that name the pair.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/system/unique_fd.h"
#include "harness/record/ranks/ranks.h"

namespace headrace {

/// Sockets to the partners of one rank. Blocking, each call on them limited to 0.2 s (EAGAIN then), so that their user
/// can check for a stop.
class TcpMesh {
 public:
  struct Options {
    unsigned streams = 1;      // of each pair
    std::uint64_t buffer = 0;  // SO_SNDBUF, SO_RCVBUF [B]; 0 = the kernel chooses
    std::string interface;     // "eth1": its address is used; "" = any that answers
    bool bind = false;         // all traffic goes by `interface`, regardless of routes
    std::string address{};     // listens there alone; "" = at all of `interface`
    double timeout_s = 10;     // for all connections together
    bool partial = false;      // a pair that cannot be connected is left out, and reported
    bool both_ways = false;    // the called end calls back, once: failures are reported, and leave no pair out
  };
  /// Team indices.
  struct Unreached {
    unsigned a = 0, b = 0;
    std::string why;  // "rank 1 (node2) cannot connect to rank 3 (node4) within 10 s: ..."
  };
  /// Called by all of `team` together. `pairs`: of team indices, which are to be connected; the
  /// same for all. Throws RanksError or RunError: which pair cannot be connected, at which address,
  /// and why.
  TcpMesh(Ranks& ranks, const std::vector<unsigned>& team, const std::vector<std::pair<unsigned, unsigned>>& pairs,
          const Options& options);

  /// Pairs in which a could not call b, the same on every rank. Those of `pairs` have no sockets. The others, the other
  /// way round than in `pairs`, could not be called back, and have.
  const std::vector<Unreached>& unreached() const { return unreached_; }

  /// The socket to team member `partner`.
  int socket(unsigned partner, unsigned stream) const { return sockets_.at(partner).at(stream).get(); }
  /// "10.78.0.3": where the partner is reached.
  const std::string& address(unsigned partner) const { return addresses_.at(partner); }

 private:
  std::map<unsigned, std::vector<system::UniqueFd>> sockets_;  // one a stream
  std::map<unsigned, std::string> addresses_;
  std::vector<Unreached> unreached_;
};

}  // namespace headrace
