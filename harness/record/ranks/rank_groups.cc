#include "harness/record/ranks/rank_groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace headrace {
namespace {

using Groups = std::vector<std::vector<unsigned>>;

/// The ranks of each key.
template <class Key>
Groups by(const std::vector<unsigned>& order, Key key) {
  std::map<unsigned, std::vector<unsigned>> found;
  for (const unsigned i : order) found[key(i)].push_back(i);
  Groups groups;
  for (auto& [name, group] : found) groups.push_back(std::move(group));
  return groups;
}

/// Blocks of size * stride ranks, each of them `stride` groups that interleave.
Groups strided(const std::vector<unsigned>& order, unsigned size, unsigned stride) {
  const auto n = static_cast<unsigned>(order.size());
  if (std::uint64_t{size} * stride > n) {
    stride = std::min(stride, std::max(1u, n / 2));
    size = std::min(size, n / stride);
  }
  Groups groups;
  for (unsigned block = 0; block + size * stride <= n; block += size * stride) {
    for (unsigned first = block; first < block + stride; ++first) {
      std::vector<unsigned>& group = groups.emplace_back();
      for (unsigned i = 0; i < size; ++i) group.push_back(order[first + i * stride]);
    }
  }
  return groups;
}

}  // namespace

RankGrouping RankGrouping::declare(Params& p) {
  RankGrouping g;
  const std::string kind =
      p.choice("group", "all", {"all", "intra_node", "inter_node", "per_rail"},
               "who works together: all; the ranks of each node; the first of each node; those with "
               "the same place on their nodes");
  g.kind = kind == "intra_node"   ? Kind::intra_node
           : kind == "inter_node" ? Kind::inter_node
           : kind == "per_rail"   ? Kind::per_rail
                                  : Kind::all;
  g.size = static_cast<unsigned>(p.count("group_size", 0, {.min = 0, .max = 1e6},
                                         "ranks of each group, as many groups as there are; 0: all "
                                         "of them"));
  g.stride =
      static_cast<unsigned>(p.count("group_stride", 1, {.min = 1, .max = 1e6},
                                    "from one rank of a group to the next, counted node by node; 8: every eighth"));
  if (g.kind != Kind::all && (g.size > 0 || g.stride > 1))
    p.conflict(g.size > 0 ? "group_size" : "group_stride",
               "goes with group: all; " + kind + " says who works together");
  else if (g.size == 1)
    p.conflict("group_size", "a group of one rank moves nothing");
  else if (g.size == 0 && g.stride > 1)
    p.conflict("group_stride", "needs a group_size");
  return g;
}

Groups RankGrouping::split(std::span<const RankPlace> places) const {
  std::vector<unsigned> order(places.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return std::pair(places[a].node, places[a].local_rank) < std::pair(places[b].node, places[b].local_rank);
  });
  Groups groups;
  switch (kind) {
    case Kind::all:
      groups = size > 0 ? strided(order, size, stride) : Groups{order};
      break;
    case Kind::intra_node:
      groups = by(order, [&](unsigned i) { return places[i].node; });
      break;
    case Kind::inter_node: {
      std::vector<unsigned> firsts;
      for (const auto& node : by(order, [&](unsigned i) { return places[i].node; })) firsts.push_back(node.front());
      groups = {std::move(firsts)};
      break;
    }
    case Kind::per_rail:
      groups = by(order, [&](unsigned i) { return places[i].local_rank; });
      break;
  }
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  return groups;
}

std::string RankGrouping::why_none() const {
  switch (kind) {
    case Kind::all:
      return "a group of one rank moves nothing";
    case Kind::intra_node:
      return "intra_node: no node has two ranks";
    case Kind::inter_node:
      return "inter_node: all ranks are on one node";
    case Kind::per_rail:
      return "per_rail: no two ranks have the same place on different nodes";
  }
  return "";
}

unsigned nodes_of(const std::vector<unsigned>& group, std::span<const RankPlace> places) {
  std::set<unsigned> nodes;
  for (const unsigned i : group) nodes.insert(places[i].node);
  return static_cast<unsigned>(nodes.size());
}

GroupShape shape_of(const Groups& groups, std::span<const RankPlace> places) {
  GroupShape shape{.ranks = static_cast<unsigned>(groups.front().size()),
                   .nodes = nodes_of(groups.front(), places),
                   .groups = static_cast<unsigned>(groups.size())};
  for (const auto& group : groups) {
    shape.ranks = std::min(shape.ranks, static_cast<unsigned>(group.size()));
    shape.nodes = std::min(shape.nodes, nodes_of(group, places));
  }
  return shape;
}

}  // namespace headrace
