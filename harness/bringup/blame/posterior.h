// The state of each part of the fabric, by rates between pairs of nodes. Parts are NICs (a node's end of a rail),
// switches, and links between two nodes. A pair is as slow as its slowest part; belief propagation finds the beliefs of
// all parts together. The usual rate, the noise, the shares of glitches and bad parts come from the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/bringup/blame/losses.h"

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

/// The rate of a pair, the slower of both ways.
struct PairRate {
  unsigned a = 0, b = 0, rail = 0;  // nodes
  double rate = 0;                  // [B/s], or in any other unit; above 0
};

/// Assumptions before anything is measured; shares.
struct Prior {
  double bad_ends = 0.02;  // only to begin with: the data determine the number
  double bad_switches = 0.01, bad_links = 0.002;
  double noise = 0.02;      // of one rate, as a share
  double transient = 0.02;  // of rates that are low for once
  /// Of a bad part's rates: those that show no loss, and those that show any. A lossy cable drops bursts.
  double hidden = 0, scattered = 0;
};

/// How measured rates differ where nothing is bad.
struct Noise {
  std::vector<double> reference;                   // of each rail: the usual rate
  double spread = 0, transient = 0, bad_ends = 0;  // shares
  double most_transient = 0;                       // `transient` and its standard error
};

class Posterior {
 public:
  Posterior(Topology topology, const Prior& prior);

  void add(const PairRate& measured);
  /// Takes in the added rounds. Deterministic.
  void update();

  const Topology& topology() const { return topology_; }
  const Noise& noise() const { return fit().noise; }
  const Weights& end(unsigned node, unsigned rail) const { return fit().belief[rail * topology_.nodes + node]; }
  const Weights& leaf_switch(unsigned number) const { return fit().belief[topology_.ends() + number]; }

  /// Two ends that met, once or more often.
  struct Link {
    unsigned a = 0, b = 0, rail = 0;
    std::vector<double> rates;
    double doubt = 0;  // probability that the way between them alone is bad, by OneRate::all
    Weights belief{};  // of that way, by OneRate::bounded, as all beliefs of parts
  };
  const std::vector<Link>& links() const { return links_; }
  /// Over the rail, of those that both have, over which they met least often.
  std::size_t meetings(unsigned a, unsigned b) const;
  /// The evidence of one rate for a bad part against a sound one. bounded: at most one divided by the share of
  /// outliers, in either direction. One may look exactly like a fault, and a bad part may be fast once.
  enum class OneRate { all, bounded };
  /// For each loss of the slowest part: the likelihood of a rate of exp(`log_ratio`) times the usual one.
  Weights likelihood(double log_ratio, OneRate weighs = OneRate::bounded) const;

 private:
  struct Factor {  // of a link
    std::array<unsigned, 4> parts{};
    std::array<Weights, 4> message{};  // to each part, as logarithms
    unsigned count = 0;
    double sound = 1;    // probability that no part of it is bad, by all other measurements
    Weights measured{};  // likelihood of its rates by the loss of the slowest part,
    double most = 0;     // divided by this (a logarithm)
    Weights link{};      // belief of the way between them alone
  };
  /// Beliefs that agree with each other. From another usual rate to begin with others may come out.
  struct Fit {
    Noise noise;
    std::vector<Factor> factors;  // along the links
    std::vector<Weights> belief;  // of each end, then of each switch
    std::vector<Weights> sum;     // their messages together, as logarithms,
    std::vector<double> total;    // and the logarithm of their sum
    double evidence = 0;          // how likely all rates are (Bethe's approximation), as a logarithm
  };
  Fit& fit() { return fits_[at_]; }
  const Fit& fit() const { return fits_[at_]; }
  struct Rates {  // as logarithms
    std::vector<double> all, better_half;
  };
  Rates rates_of(unsigned rail) const;
  void begin_at_most_rates();
  void begin_at_fast_rates();
  void set_likelihoods(OneRate weighs);
  void add_up();
  void send(Factor& factor, const Weights& link_prior);
  void propagate(OneRate weighs);
  void learn();
  Weights prior_of(unsigned part) const;

  const Topology topology_;
  const Prior prior_;
  std::vector<Link> links_;
  std::map<std::pair<unsigned, unsigned>, std::size_t> index_;  // ends -> link
  std::array<Fit, 2> fits_;
  std::size_t at_ = 0;  // the likelier one
};

}  // namespace headrace::bringup
