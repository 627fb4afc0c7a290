// What rates between pairs of nodes say of each part of the fabric: of every NIC (a node's end of a rail), every switch,
// and every link between two nodes that met. A pair is as slow as its slowest part; the beliefs of all parts are found
// together by belief propagation. The usual rate, the noise, the share of glitches and of bad parts come from the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/bringup/losses.h"

namespace headrace::bringup {

inline constexpr unsigned kNoSwitch = ~0u;

/// Nodes are numbered from 0, and so are rails and switches.
struct Topology {
  unsigned nodes = 0, rails = 1;
  std::vector<unsigned> switch_of;  // of each node: its leaf switch, or kNoSwitch; empty: none is known
  std::set<unsigned> absent{};      // ends that nodes do not have: rail * nodes + node

  unsigned ends() const { return nodes * rails; }
  bool has(unsigned node, unsigned rail) const { return !absent.contains(rail * nodes + node); }
  bool has_any(unsigned node) const {
    for (unsigned rail = 0; rail < rails; ++rail)
      if (has(node, rail)) return true;
    return false;
  }
  unsigned switches() const;
  unsigned leaf(unsigned node) const { return switch_of.empty() ? kNoSwitch : switch_of[node]; }
  /// Do pairs of these two leave their switches?
  bool apart(unsigned a, unsigned b) const {
    return leaf(a) != leaf(b) && leaf(a) != kNoSwitch && leaf(b) != kNoSwitch;
  }
};

/// What a pair reached, the slower of both ways.
struct PairRate {
  unsigned a = 0, b = 0, rail = 0;  // nodes
  double rate = 0;                  // [B/s], or in any other unit; above 0
};

/// What is taken for likely before anything is measured; shares.
struct Prior {
  double bad_ends = 0.02;  // only to begin with: the data say how many there are
  double bad_switches = 0.01, bad_links = 0.002;
  double noise = 0.02;      // of one rate, as a share; likewise
  double transient = 0.02;  // of rates that are low for once; likewise
};

/// How measured rates differ where nothing is bad.
struct Noise {
  std::vector<double> reference;                   // of each rail: the usual rate
  double spread = 0, transient = 0, bad_ends = 0;  // shares
};

class Posterior {
 public:
  Posterior(Topology topology, const Prior& prior);

  void add(const PairRate& measured);
  /// Takes in what was added. Deterministic.
  void update();

  const Topology& topology() const { return topology_; }
  const Noise& noise() const { return noise_; }
  const Weights& end(unsigned node, unsigned rail) const { return belief_[rail * topology_.nodes + node]; }
  const Weights& leaf_switch(unsigned number) const { return belief_[topology_.ends() + number]; }

  /// Two ends that met, once or more often.
  struct Link {
    unsigned a = 0, b = 0, rail = 0;
    std::vector<double> rates;
    Weights belief{};  // of the way between them alone
  };
  const std::vector<Link>& links() const { return links_; }
  /// Over the rail, of those that both have, over which they met least often.
  std::size_t meetings(unsigned a, unsigned b) const;
  /// How likely a rate of exp(`log_ratio`) times the usual one is where the slowest part loses kLosses[loss].
  double likelihood(double log_ratio, std::size_t loss) const;

 private:
  struct Factor {  // of a link
    std::array<unsigned, 4> parts{};
    std::array<Weights, 4> message{};  // to each part, as logarithms
    unsigned count = 0;
    Weights measured{};  // likelihood of its rates by the loss of the slowest part
  };
  void set_reference();
  void set_likelihoods();
  void propagate();
  void learn();
  Weights prior_of(unsigned part) const;

  const Topology topology_;
  const Prior prior_;
  Noise noise_;
  std::vector<Link> links_;
  std::vector<Factor> factors_;                                 // along the links
  std::map<std::pair<unsigned, unsigned>, std::size_t> index_;  // ends -> link
  std::vector<Weights> belief_;                                 // of each end, then of each switch
  std::vector<Weights> sum_;                                    // their messages together, as logarithms
};

}  // namespace headrace::bringup
