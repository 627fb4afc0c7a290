// Pairs that could not be connected, and the conclusions on links, NICs, nodes and rails.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/bringup/blame/judge.h"
#include "harness/record/connections.h"

namespace headrace::bringup {

/// The brief words for a node whose agent reports an error of its own: the hosts file may be wrong.
inline constexpr const char* kFailsByItself = "fails by itself";

class Unreached {
 public:
  /// `record` outlives it, and may grow.
  explicit Unreached(const Record& record);

  /// `one_way`: the end that was called could not call back.
  void measured(const PairMeasured& one, bool one_way);
  /// In an earlier session that still counts.
  void measured_before(const PairMeasured& one);
  void failed(const FailedPair& one);
  /// How often these two failed over this rail, or one of them by itself.
  unsigned failures(const FailedPair& one) const;
  /// The end that calls when these two meet next (by RDMA: that leads): the other one where a call failed.
  unsigned caller(unsigned a, unsigned b, unsigned rail) const;

  /// Ends of rails that need no more pairs, as it is known that they fail: nodes, and rails.
  std::vector<std::pair<unsigned, unsigned>> given_up(const std::vector<unsigned>& there) const;
  /// Nodes and NICs that fail, links that do, and rails that connect no nodes; of nodes that are `there`.
  std::vector<Broken> broken(const std::vector<unsigned>& there) const;

 private:
  struct OwnFailures {
    unsigned count = 0;
    std::string why;
  };
  struct End {  // of a rail, that fails
    unsigned node = 0, rail = 0;
    Broken broken;
    bool of_node = false;  // regardless of its other rails
  };
  std::vector<unsigned> with_rail(const std::vector<unsigned>& there, unsigned rail) const;
  bool all_fail_by_themselves(unsigned rail) const;
  bool loses_full_packets(unsigned rail) const;
  std::vector<End> ends_of(unsigned rail, const std::vector<unsigned>& there) const;
  bool is_dead(unsigned rail, const std::vector<unsigned>& there) const;
  bool all_tried(unsigned rail, const std::vector<unsigned>& there) const;
  Broken dead(unsigned rail, const std::vector<unsigned>& there) const;
  Broken of_host(const ConnectionFault& fault, unsigned rail) const;
  Broken of_path(const ConnectionFault& fault, unsigned rail) const;
  std::string names(const std::vector<unsigned>& nodes) const;
  const char* network(unsigned rail) const;

  const Record& record_;
  std::vector<Connections> rails_;
  std::vector<std::set<std::pair<unsigned, unsigned>>> met_, lossy_;  // by rail: pairs that met, that lost full packets
  std::map<std::pair<unsigned, unsigned>, OwnFailures> own_;          // of nodes, and rails
  std::set<std::pair<unsigned, unsigned>> opened_;  // nodes and rails that did not fail by themselves, once at least
};

inline constexpr unsigned kTwice = 2;  // a pair that fails is tried once more

}  // namespace headrace::bringup
