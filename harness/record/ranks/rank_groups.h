// Ranks of a collective split into groups that all work at the same time. They are those of a node, those of a rail, or
// every n-th. A job's tensor, pipeline and data groups are placed so.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/record/params.h"
#include "harness/record/ranks/ranks.h"

namespace headrace {

/// A point's groups, for fits and for needs of the job's groups.
struct GroupShape {
  unsigned ranks = 0;   // of one group, the smallest where they differ
  unsigned nodes = 1;   // of one group, the fewest
  unsigned groups = 1;  // at the same time
};

/// Which ranks are a group.
struct RankGrouping {
  enum class Kind {
    all,         // all of them; with `size`, that many, `stride` apart
    intra_node,  // those of each node
    inter_node,  // the first of each node: one group
    per_rail,    // those with the same place on their nodes: one group for each place
  };
  Kind kind = Kind::all;
  unsigned size = 0;    // of `all`: ranks of each group; 0: one group of all
  unsigned stride = 1;  // and how far apart neighbours are, counted node by node

  /// The keys group, group_size and group_stride.
  static RankGrouping declare(Params& p);

  /// Groups of indices into `places`, each in the order node by node; groups of one rank are left out. With fewer ranks
  /// than `size` of them `stride` apart, the stride is reduced to half of the ranks. Then the size is reduced until it
  /// fits. A rank is in at most one group.
  std::vector<std::vector<unsigned>> split(std::span<const RankPlace> places) const;

  /// Why no group has two ranks: "intra_node: no node has two ranks".
  std::string why_none() const;
};

/// The shape of the groups from split(); at least one.
GroupShape shape_of(const std::vector<std::vector<unsigned>>& groups, std::span<const RankPlace> places);
/// On how many nodes these ranks are.
unsigned nodes_of(const std::vector<unsigned>& group, std::span<const RankPlace> places);

}  // namespace headrace
