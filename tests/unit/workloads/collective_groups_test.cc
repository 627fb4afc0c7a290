// What groups give together, from times that are known.
#include "workloads/network/collective_groups.h"

#include <gtest/gtest.h>

#include <map>

namespace headrace::network::collective_groups_test {
namespace {

struct Sink final : MetricSink {
  void put(std::string_view name, double value, double) override { reported[std::string(name)] = value; }
  std::map<std::string, double> reported;
};

CollectiveGroups groups(const std::string& yaml) {
  Diagnostics problems;
  const config::Value entry = config::parse_yaml(yaml, "test.yaml", problems);
  Params params("all_reduce", entry, problems);
  CollectiveGroups made(params);
  params.finish();
  EXPECT_TRUE(problems.empty());
  return made;
}

/// `ranks` node by node.
std::vector<RankPlace> cluster(const std::vector<unsigned>& ranks) {
  std::vector<RankPlace> places;
  for (unsigned node = 0; node < ranks.size(); ++node)
    for (unsigned i = 0; i < ranks[node]; ++i) places.push_back({"node" + std::to_string(node), node, i});
  return places;
}

TEST(CollectiveGroups, TheSlowestGroupsFiguresAndTheLoadOfANode) {
  CollectiveGroups rails = groups("{group: per_rail}");
  ASSERT_FALSE(rails.split(cluster({2, 2}), Collective::all_reduce, 8000));
  Sink sink;
  rails.report({1e-3, 2e-3}, Collective::all_reduce, 8000, sink);
  EXPECT_DOUBLE_EQ(sink.reported.at("time_s"), 2e-3);
  EXPECT_DOUBLE_EQ(sink.reported.at("algbw"), 4e6);
  EXPECT_DOUBLE_EQ(sink.reported.at("busbw"), 4e6);  // 2 (n-1)/n of two
  EXPECT_DOUBLE_EQ(sink.reported.at("node_busbw"), 8e6 + 4e6);
  EXPECT_EQ(rails.words(), "2 groups of 2 ranks on 2 nodes");
  EXPECT_EQ(*rails.of(3), 1u);
}

TEST(CollectiveGroups, WithinNodesNothingLeavesThem) {
  CollectiveGroups nodes = groups("{group: intra_node}");
  ASSERT_FALSE(nodes.split(cluster({2, 4, 1}), Collective::all_gather, 8000));
  Sink sink;
  nodes.report({1e-3, 1e-3}, Collective::all_gather, 8000, sink);
  EXPECT_DOUBLE_EQ(sink.reported.at("busbw"), 8e6 * 0.5);  // (n-1)/n of two: less than of four
  EXPECT_EQ(sink.reported.count("node_busbw"), 0u);
  EXPECT_EQ(nodes.shape()->ranks, 2u);
  EXPECT_FALSE(nodes.of(6));
  EXPECT_EQ(nodes.words(), "2 groups of 2 ranks on 1 node; 1 in none");
}

TEST(CollectiveGroups, PartsAreWholeInEachGroup) {
  CollectiveGroups nodes = groups("{group: intra_node}");
  ASSERT_FALSE(nodes.split(cluster({2, 3}), Collective::all_to_all, 40));
  EXPECT_EQ(nodes.count(0, Collective::all_to_all, 40), 10u);
  EXPECT_EQ(nodes.count(1, Collective::all_to_all, 40), 9u);
  EXPECT_EQ(nodes.count(1, Collective::broadcast, 40), 10u);
  const auto skip = nodes.split(cluster({2, 3}), Collective::all_to_all, 8);
  ASSERT_TRUE(skip);
  EXPECT_EQ(skip->reason, "message_size: 8 bytes are less than one element for each of 3 ranks");
}

TEST(CollectiveGroups, OneGroupOfAllNeedsNoWords) {
  CollectiveGroups all = groups("{}");
  EXPECT_FALSE(all.shape());
  EXPECT_EQ(all.words(), "");
  ASSERT_FALSE(all.split(cluster({2, 2}), Collective::all_reduce, 8));
  EXPECT_EQ(all.words(), "");
  EXPECT_EQ(all.shape()->nodes, 2u);
  EXPECT_EQ(all.split(cluster({1}), Collective::all_reduce, 8)->reason, "a group of one rank moves nothing");
}

}  // namespace
}  // namespace headrace::network::collective_groups_test
