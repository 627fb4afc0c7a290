// Rates between pairs of nodes (or of rails), and who is to blame where some are low.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headrace {

/// How pairs follow one another so that every node is in one pair at a time.
/// Each round is a list of pairs (both ways are measured at once or one after the other, as the
/// workload says).
using PairRounds = std::vector<std::vector<std::pair<unsigned, unsigned>>>;

/// Each with each, every node busy in every round (one rests when `n` is odd): the round-robin
/// tournament, n-1 rounds of n/2 pairs (n rounds when n is odd).
PairRounds all_pairs_rounds(unsigned n);
/// Each with the next, the last with the first: two rounds, three when n is odd.
PairRounds ring_rounds(unsigned n);
/// One round: the first half with the second, all at once, across the middle of the fabric.
PairRounds bisection_rounds(unsigned n);

/// `rate[from][to]` [unit]; below 0 = not measured.
struct PairMatrix {
  std::vector<std::string> names;
  std::vector<std::vector<double>> rate;

  PairMatrix() = default;
  explicit PairMatrix(std::vector<std::string> of)
      : names(std::move(of)), rate(names.size(), std::vector<double>(names.size(), -1)) {}
};

struct Blame {
  double reference =
      0;  // the rate that a sound node reaches with its best partner: the median of those
  std::vector<unsigned> nodes;  // at least three partners, and more than half of them, find it slow
  std::vector<std::pair<unsigned, unsigned>> links;  // from, to: slow, and neither end is blamed
};

/// A rate below `share` of the reference is slow. A node is blamed only where at least three of its
/// partners agree: those that are blamed themselves do not count, so the worst is looked at first.
/// Otherwise the link is named.
Blame blame(const PairMatrix& matrix, double share = 0.75);

/// Per pair the median of what was measured.
PairMatrix median_matrix(const std::vector<const PairMatrix*>& several);

/// One line per finding: "node3: slow with 3 of 3 partners (0.49 of 0.98 GB/s)".
std::vector<std::string> told(const Blame& blame, const PairMatrix& matrix);

}  // namespace headrace
