// What a matrix of pairs says of nodes, rails and links, one by one.
#pragma once

#include <string>
#include <vector>

#include "harness/pair_matrix.h"

namespace headrace {

/// "slow node", "node3", "0.49 GB/s with its 3 partners, where others reach 0.98 GB/s"; "slow
/// rail", "eth1", ...; "slow link", "node0 to node1", ...
struct PairFinding {
  std::string kind, subject, told;
};

/// Rails first, then nodes (one whose rails are all slow once), then links. told() of
/// pair_matrix.h has the same as lines.
std::vector<PairFinding> pair_findings(const Blame& blame, const PairMatrix& matrix);

/// The nodes whose pairs these are, once each.
std::vector<std::string> nodes_of(const PairMatrix& matrix);

}  // namespace headrace
