// Rates between pairs of nodes (or of rails), and the blamed ones where some are low.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {

/// How pairs follow one another so that every node is in one pair at a time. Each round is a list of pairs (the
/// workload measures both ways at once or one after the other).
using PairRounds = std::vector<std::vector<std::pair<unsigned, unsigned>>>;

/// The round-robin tournament: each with each, every node busy in every round (one rests when `n` is odd). It has n-1
/// rounds of n/2 pairs (n rounds when n is odd).
PairRounds all_pairs_rounds(unsigned n);
/// Each with the next, the last with the first: two rounds, three when n is odd.
PairRounds ring_rounds(unsigned n);
/// One round: the first half with the second, all at once, across the middle of the fabric.
PairRounds bisection_rounds(unsigned n);
/// The same network interface of every node with each other's, as a rail-optimized fabric joins them. Ends are numbered
/// rail by rail: `rail * nodes + node`; pairs stay within a rail. A tournament on each rail. All rails run `at_once`,
/// so that every end is busy in every round, or one after the other.
PairRounds rails_rounds(unsigned nodes, unsigned rails, bool at_once);

/// Two ends between which nothing gets through, and why.
struct UnreachedPair {
  unsigned a = 0, b = 0;
  std::string why;
  bool operator==(const UnreachedPair&) const = default;
};

/// `rate[from][to]` [B/s]; below 0 = not measured.
struct PairMatrix {
  std::vector<std::string> names;  // of nodes; of rails' ends: "node3 eth1"
  std::vector<std::vector<double>> rate;
  std::vector<std::string> rails;  // where ends are rails of nodes, as rails_rounds() numbers them
  std::vector<UnreachedPair> unreached{};

  PairMatrix() = default;
  explicit PairMatrix(std::vector<std::string> of)
      : names(std::move(of)), rate(names.size(), std::vector<double>(names.size(), -1)) {}
  /// A matrix of the rails of nodes.
  PairMatrix(const std::vector<std::string>& nodes, std::vector<std::string> rails);

  /// Ends that may meet: all, or those of one rail.
  std::size_t ends_of_rail() const { return rails.empty() ? names.size() : names.size() / rails.size(); }
};

struct Blame {
  double reference = 0;                // the rate that a sound node reaches with its best partner: the median of those.
                                       // Of several rails the best one's
  std::vector<double> rail_reference;  // the same of each rail; empty where there are none
  std::vector<unsigned> rails;         // slow as a whole: their reference is below `share` of the best one's
  std::vector<unsigned> nodes;         // ends: at least three partners, and more than half, find it slow
  std::vector<std::pair<unsigned, unsigned>> links;  // from, to: slow, and neither end is blamed
  double share = 0.75;                               // of the reference, below which a link or a rail is slow
  std::vector<double> node_share;                    // the same of a node's pairs, of their usual rate; of each rail
};

/// A rate below `share` of the reference is slow; of an end of a rail, of its own rail's reference. Among eight ends or
/// more, a slow node is 5 % below the middle pair, if healthy ones differ by less. A node is blamed only where at least
/// three of its partners, and most of them, agree. Blamed partners do not count, so the worst node is looked at first.
/// Otherwise the link is named.
Blame blame(const PairMatrix& matrix, double share = 0.75);

/// Per pair the median of its rates. Nothing for one that could not be connected, or broke, in any of them.
PairMatrix median_matrix(const std::vector<const PairMatrix*>& several);

/// The parts to check of a slow node, and between two that are fast with others.
inline constexpr std::string_view kLookAtNode = "look at its cables, its port and the counters of its NIC (ethtool -S)";
inline constexpr std::string_view kLookAtWay = "look at the way between them, its routes and its switches";

/// "slow node", "node3", "0.49 GB/s with its 3 partners, where others reach 0.98 GB/s"; "slow
/// rail", "eth1", ...; "slow link", "node0 to node1", ...; "unreached link" and "unreached node", with why.
struct PairFinding {
  std::string kind, subject, reported;
  std::string part;                   // "node node3", "NIC node3 eth1", "rail eth1"; of both ways "link node0 to node1"
  std::vector<unsigned> ends;         // of the node, or both of the link, the one that sends first; of a rail none
  std::optional<unsigned> rail = {};  // slow as a whole
  double below = 0;                   // the share of the usual rate from which on it is not slow; 0: it is cut off
};

/// The rate of a finding's part in one matrix, such as a repetition's, as a share of its usual rate. A loss that all
/// share accuses none. Nothing where it was not measured.
std::optional<double> share_of(const PairFinding& finding, const Blame& blame, const PairMatrix& matrix);

/// The same of each pair that is not blamed: how healthy ones differ.
std::vector<double> sound_shares(const Blame& blame, const PairMatrix& matrix);

/// Unreachable parts first: a node, where two or more cannot connect with it who can with others, else the link. Then
/// slow rails, nodes (one whose rails are all slow once) and links.
std::vector<PairFinding> pair_findings(const Blame& blame, const PairMatrix& matrix);

/// The nodes whose pairs these are, once each.
std::vector<std::string> nodes_of(const PairMatrix& matrix);

}  // namespace headrace
