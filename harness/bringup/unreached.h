// Who gets through to whom: pairs that could not be connected, and what that says of links, NICs and nodes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/bringup/judge.h"

namespace headrace::bringup {

class Unreached {
 public:
  explicit Unreached(unsigned rails) : rails_(rails) {}

  void measured(const PairMeasured& one);
  /// In an earlier session that still counts.
  void measured_before(const PairMeasured& one);
  /// Returns how often these two failed over this rail.
  unsigned failed(const FailedPair& one);

  /// Nobody gets through to anybody over this rail, as at least two pairs with no node in common tried, who do over others; and
  /// why not.
  std::optional<std::string> dead(unsigned rail) const;
  /// Rails of a node over which nobody gets through to it, and at least two who tried do to others.
  std::vector<unsigned> cut_rails(unsigned node) const;
  /// Of nodes that are there: those that are cut off, or a NIC of theirs is, and links between two that get through elsewhere; and
  /// rails that are dead, which nodes share.
  std::vector<Broken> broken(const Record& record, const std::vector<unsigned>& there) const;

 private:
  using Way = std::tuple<unsigned, unsigned, unsigned>;  // both nodes, the lower number first, and the rail
  struct Times {
    unsigned count = 0;
    std::string why;
  };
  /// Was it reached, over this rail, or any?
  bool works(unsigned node, std::optional<unsigned> rail = std::nullopt) const;
  bool any_works(unsigned rail) const;
  /// Who cannot be connected with it over this rail, and can with others; and why.
  std::vector<std::pair<unsigned, std::string>> cut_from(unsigned node, unsigned rail) const;

  const unsigned rails_;
  std::set<std::pair<unsigned, unsigned>> works_, worked_;  // nodes, and rails that others reached them by; before
  std::map<Way, Times> failed_;
};

inline constexpr unsigned kTwice = 2;  // a pair that fails is tried once more

}  // namespace headrace::bringup
