// Finds the bad parts of a fabric in few rounds. It chooses the next pairs of nodes to measure, and when to stop.
// docs/explanation/adaptive-pairs.md reports the rules and their guarantee. Pure: the caller measures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/random.h"
#include "harness/bringup/blame/posterior.h"

namespace headrace::bringup {

struct SearchOptions {
  double alpha = 0.01;        // at most so likely is any healthy part accused, over the whole fleet
  double beta = 0.05;         // at most so likely is a part that loses kDelta or more called healthy
  unsigned most_rounds = 20;  // half as many where nodes alone are undecided
  unsigned before = 0;        // rounds of earlier sessions, which are added first and count as these do
  bool every_link = false;    // until each two that are not accused have met, however many rounds that takes
  Prior prior;
  std::uint64_t seed = 1;
};

enum class PartState { undecided, cleared, slower, accused };  // slower: by less than kDelta, and surely
std::string_view to_string(PartState state);

/// Nodes that meet at the same time, each in one pair.
using Round = std::vector<std::pair<unsigned, unsigned>>;

struct Finding {
  /// shared: a common fault of nodes, by tests of each alone.
  enum class Scope { node, nic, link, switch_fabric, shared } scope = Scope::node;
  unsigned a = 0, b = 0, rail = 0;  // node a; of a link both; of a switch its number in a
  double loss = 0;                  // expected share
  double healthy = 0;               // probability that it is healthy after all
};

class Search {
 public:
  Search(Topology topology, const SearchOptions& options);

  /// Empty: enough is known, no pair would report more, or there are no rounds left.
  Round next();
  /// The rates of a round's pairs, over each rail. Pairs that could not be measured are left out.
  void add(std::span<const PairRate> measured);
  /// The node takes part no more, because it does not answer: it is in no further pair.
  void lose(unsigned node);
  /// These two cannot be measured together: they meet no more.
  void avoid(unsigned a, unsigned b);

  unsigned rounds() const { return rounds_; }
  PartState node(unsigned number) const;  // the worst of its rails, and of links that may be slow
  bool lost(unsigned node) const { return lost_[node]; }
  std::vector<unsigned> undecided() const;
  std::vector<Finding> findings() const { return findings_; }
  const Posterior& posterior() const { return posterior_; }

 private:
  void judge();
  bool rounds_left() const;
  std::vector<bool> accused_ends() const;
  struct OfSwitch {
    unsigned nodes = 0, bad = 0;
    double loss = 0;  // of the bad ones, added
  };
  OfSwitch worst_rail(unsigned leaf, const std::vector<bool>& accused) const;
  bool agreed(unsigned node, unsigned rail, const std::vector<bool>& accused) const;
  bool mostly_below_noise(const Posterior::Link& link) const;
  double information(unsigned about, unsigned with) const;
  Round random_matching();
  Round chosen_pairs();
  void add_unmet(Round& round) const;
  bool avoided(unsigned a, unsigned b) const { return avoided_.contains({std::min(a, b), std::max(a, b)}); }
  unsigned partner_of(unsigned node, const std::vector<bool>& taken) const;

  const SearchOptions options_;
  Posterior posterior_;
  Random random_;
  unsigned rounds_ = 0;
  std::vector<PartState> nodes_, ends_, switches_;
  std::vector<bool> lost_, in_doubt_;  // in_doubt_: an end of a link that may be slow
  std::set<std::pair<unsigned, unsigned>> avoided_;
  std::vector<Finding> findings_;
  std::vector<std::size_t> doubtful_links_;  // that may be slow, and are not known to be
};

}  // namespace headrace::bringup
