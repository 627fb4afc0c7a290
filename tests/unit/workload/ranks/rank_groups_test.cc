#include "harness/record/ranks/rank_groups.h"

#include <gtest/gtest.h>

#include "harness/base/diagnostics.h"

namespace headrace::rank_groups_test {
namespace {

using Groups = std::vector<std::vector<unsigned>>;

/// Ranks as launchers place them: node by node, or round robin.
std::vector<RankPlace> cluster(unsigned nodes, unsigned each, bool round_robin = false) {
  std::vector<RankPlace> places;
  for (unsigned r = 0; r < nodes * each; ++r) {
    const unsigned node = round_robin ? r % nodes : r / each;
    places.push_back({"node" + std::to_string(node), node, round_robin ? r / nodes : r % each});
  }
  return places;
}

RankGrouping grouping(RankGrouping::Kind kind) {
  RankGrouping g;
  g.kind = kind;
  return g;
}

TEST(RankGroups, ByNodeAndByRail) {
  using Kind = RankGrouping::Kind;
  const auto places = cluster(2, 3);
  EXPECT_EQ(grouping(Kind::all).split(places), (Groups{{0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(grouping(Kind::intra_node).split(places), (Groups{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(grouping(Kind::inter_node).split(places), (Groups{{0, 3}}));
  EXPECT_EQ(grouping(Kind::per_rail).split(places), (Groups{{0, 3}, {1, 4}, {2, 5}}));
}

TEST(RankGroups, DoNotDependOnTheOrderOfRanks) {
  const auto places = cluster(2, 3, true);
  EXPECT_EQ(grouping(RankGrouping::Kind::intra_node).split(places), (Groups{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(grouping(RankGrouping::Kind::per_rail).split(places), (Groups{{0, 1}, {2, 3}, {4, 5}}));
  RankGrouping pairs;
  pairs.size = 2;
  EXPECT_EQ(pairs.split(places), (Groups{{0, 2}, {4, 1}, {3, 5}}));
}

TEST(RankGroups, LeaveOutGroupsOfOne) {
  auto places = cluster(2, 2);
  places.push_back({"node2", 2, 0});
  EXPECT_EQ(grouping(RankGrouping::Kind::intra_node).split(places), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(grouping(RankGrouping::Kind::per_rail).split(places), (Groups{{0, 2, 4}, {1, 3}}));
  EXPECT_TRUE(grouping(RankGrouping::Kind::inter_node).split(cluster(1, 8)).empty());
  EXPECT_EQ(grouping(RankGrouping::Kind::inter_node).why_none(), "inter_node: all ranks are on one node");
}

/// Eight-way tensor parallelism on nodes of 8: data groups are every eighth rank.
TEST(RankGroups, AsAJobsParallelDegreesLie) {
  RankGrouping tensor, data;
  tensor.size = 8;
  data.size = 4;
  data.stride = 8;
  const auto places = cluster(4, 8);
  EXPECT_EQ(tensor.split(places), grouping(RankGrouping::Kind::intra_node).split(places));
  EXPECT_EQ(data.split(places), grouping(RankGrouping::Kind::per_rail).split(places));
  const GroupShape shape = shape_of(data.split(places), places);
  EXPECT_EQ(shape.ranks, 4u);
  EXPECT_EQ(shape.nodes, 4u);
  EXPECT_EQ(shape.groups, 8u);
  EXPECT_EQ(nodes_of({0, 1, 8}, places), 2u);
}

TEST(RankGroups, ShrinkToTheRanksThatThereAre) {
  RankGrouping data;
  data.size = 32;
  data.stride = 8;
  EXPECT_EQ(data.split(cluster(2, 8)).size(), 8u);
  EXPECT_EQ(data.split(cluster(2, 8)).front(), (std::vector<unsigned>{0, 8}));
  EXPECT_EQ(data.split(cluster(1, 4)), (Groups{{0, 2}, {1, 3}}));
  RankGrouping tensor;
  tensor.size = 8;
  EXPECT_EQ(tensor.split(cluster(1, 3)), (Groups{{0, 1, 2}}));
  // What is left over is in no group.
  tensor.size = 2;
  EXPECT_EQ(tensor.split(cluster(1, 5)), (Groups{{0, 1}, {2, 3}}));
}

std::string problems(const std::string& yaml) {
  Diagnostics found;
  const config::Value entry = config::parse_yaml(yaml, "test.yaml", found);
  Params params("all_reduce", entry, found);
  RankGrouping::declare(params);
  params.finish();
  std::string text;
  for (const Diagnostic& d : found.errors()) text += to_string(d) + "\n";
  return text;
}

TEST(RankGroups, RefuseInvalidGroups) {
  EXPECT_EQ(problems("{group: per_rail}"), "");
  EXPECT_EQ(problems("{group_size: 4, group_stride: 2}"), "");
  EXPECT_NE(problems("{group: per_node}").find("not one of: all, intra_node"), std::string::npos);
  EXPECT_NE(problems("{group: intra_node, group_size: 4}").find("goes with group: all"), std::string::npos);
  EXPECT_NE(problems("{group_size: 1}").find("moves nothing"), std::string::npos);
  EXPECT_NE(problems("{group_stride: 2}").find("needs a group_size"), std::string::npos);
}

}  // namespace
}  // namespace headrace::rank_groups_test
