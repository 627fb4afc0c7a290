#include "harness/record/pair_matrix.h"

#include <gtest/gtest.h>

#include <set>

#include "harness/judge/statistics/draws.h"

namespace headrace::pair_matrix_test {
namespace {

/// All links at 1, but for those of `slow`, in both directions.
PairMatrix matrix(unsigned n, const std::vector<std::pair<unsigned, unsigned>>& slow, double rate = 0.5) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < n; ++i) names.push_back("node" + std::to_string(i));
  PairMatrix m(names);
  for (unsigned a = 0; a < n; ++a)
    for (unsigned b = 0; b < n; ++b)
      if (a != b) m.rate[a][b] = 1;
  for (const auto& [a, b] : slow) m.rate[a][b] = m.rate[b][a] = rate;
  return m;
}

std::vector<std::pair<unsigned, unsigned>> all_of(unsigned node, unsigned n) {
  std::vector<std::pair<unsigned, unsigned>> links;
  for (unsigned other = 0; other < n; ++other)
    if (other != node) links.emplace_back(node, other);
  return links;
}

TEST(PairRounds, TournamentMeetsEachOnceAndKeepsAllBusy) {
  for (const unsigned n : {2u, 3u, 4u, 7u, 16u}) {
    const PairRounds rounds = all_pairs_rounds(n);
    EXPECT_EQ(rounds.size(), n % 2 == 0 ? n - 1 : n);
    std::set<std::pair<unsigned, unsigned>> met;
    for (const auto& round : rounds) {
      std::set<unsigned> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_TRUE(met.emplace(a, b).second);
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second);
      }
      EXPECT_EQ(busy.size(), n - n % 2);
    }
    EXPECT_EQ(met.size(), n * (n - 1) / 2);
  }
}

TEST(PairRounds, RingHasEachLinkOnceAndNoNodeTwiceInARound) {
  for (const unsigned n : {2u, 3u, 4u, 5u, 8u}) {
    std::size_t links = 0;
    for (const auto& round : ring_rounds(n)) {
      std::set<unsigned> busy;
      for (const auto& [a, b] : round) {
        EXPECT_EQ(b, (a + 1) % n);
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << n;
        ++links;
      }
    }
    EXPECT_EQ(links, n == 2 ? 1 : n);
  }
}

TEST(PairRounds, BisectionCrossesTheMiddle) {
  const PairRounds rounds = bisection_rounds(6);
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0], (std::vector<std::pair<unsigned, unsigned>>{{0, 3}, {1, 4}, {2, 5}}));
}

TEST(Blame, EqualPairsHaveNoBlamedNode) {
  const Blame none = blame(matrix(5, {}));
  EXPECT_EQ(none.reference, 1);
  EXPECT_TRUE(none.nodes.empty());
  EXPECT_TRUE(none.links.empty());
}

TEST(Blame, ANodeThatThreePartnersFindSlow) {
  for (const unsigned n : {4u, 8u}) {
    const Blame found = blame(matrix(n, all_of(2, n)));
    EXPECT_EQ(found.nodes, std::vector<unsigned>{2}) << n;
    EXPECT_TRUE(found.links.empty());
  }
}

TEST(Blame, TheLinkWhereOnlyTwoAgree) {
  const Blame one = blame(matrix(4, {{1, 2}}));
  EXPECT_TRUE(one.nodes.empty());
  EXPECT_EQ(one.links, (std::vector<std::pair<unsigned, unsigned>>{{1, 2}, {2, 1}}));
  const Blame three_nodes = blame(matrix(3, all_of(2, 3)));
  EXPECT_TRUE(three_nodes.nodes.empty());
  EXPECT_EQ(three_nodes.links.size(), 4u);
}

TEST(Blame, SlowBeginsBelowThreeQuarters) {
  EXPECT_TRUE(blame(matrix(7, all_of(2, 7), 0.751)).nodes.empty());
  EXPECT_TRUE(blame(matrix(8, {{0, 1}}, 0.75)).links.empty());
  EXPECT_EQ(blame(matrix(7, all_of(2, 7), 0.749)).nodes, std::vector<unsigned>{2});
  EXPECT_EQ(blame(matrix(8, {{0, 1}}, 0.749)).links.size(), 2u);
}

/// That many nodes whose rates differ by `spread`; node 2 is so many times as fast.
PairMatrix drawn(unsigned n, double spread, double node2, statistics::Draws& draws) {
  PairMatrix m = matrix(n, {});
  for (unsigned a = 0; a < n; ++a)
    for (unsigned b = 0; b < n; ++b)
      if (a != b) {
        double normal = -6;
        for (int i = 0; i < 12; ++i) normal += draws.share();
        m.rate[a][b] = (1 + spread * normal) * (a == 2 || b == 2 ? node2 : 1);
      }
  return m;
}

TEST(Blame, AnEighthSlowerWithSevenOfSevenIsANode) {
  EXPECT_EQ(blame(matrix(8, all_of(2, 8), 0.88)).nodes, std::vector<unsigned>{2});
  EXPECT_TRUE(blame(matrix(8, all_of(2, 8), 0.96)).nodes.empty());  // less than delta
  statistics::Draws draws(1);
  int found = 0;
  for (int i = 0; i < 100; ++i) found += blame(drawn(8, 0.02, 0.88, draws)).nodes == std::vector<unsigned>{2};
  EXPECT_GE(found, 95);
}

TEST(Blame, HealthyNodesThatDifferAreSeldomBlamed) {
  statistics::Draws draws(2);
  for (const unsigned n : {8u, 16u, 64u})
    for (const double spread : {0.02, 0.05, 0.1}) {
      int blamed = 0;
      for (int i = 0; i < 300; ++i) blamed += !blame(drawn(n, spread, 1, draws)).nodes.empty();
      EXPECT_LE(blamed, 3) << n << " " << spread;
    }
}

TEST(Blame, HalfOfThePartnersAreNotMost) {
  // Of node 2's six partners three find it slow: links. A fourth makes it the node.
  const std::vector<std::pair<unsigned, unsigned>> three = {{2, 0}, {2, 1}, {2, 3}};
  auto four = three;
  four.emplace_back(2, 4);
  EXPECT_TRUE(blame(matrix(7, three)).nodes.empty());
  EXPECT_EQ(blame(matrix(7, three)).links.size(), 6u);
  EXPECT_EQ(blame(matrix(7, four)).nodes, std::vector<unsigned>{2});
}

TEST(Blame, PartnersOfSlowNodesAreNotBlamed) {
  std::vector<std::pair<unsigned, unsigned>> slow = all_of(0, 8);
  for (const unsigned bad : {3u, 5u})
    for (const auto& link : all_of(bad, 8)) slow.push_back(link);
  EXPECT_EQ(blame(matrix(8, slow)).nodes, (std::vector<unsigned>{0, 3, 5}));
}

/// Four slow nodes of eight: each good one has four slow links of seven, all of them to nodes that are blamed.
TEST(Blame, ValuesNextToABlamedNodeCountForNothing) {
  std::vector<std::pair<unsigned, unsigned>> slow;
  for (const unsigned bad : {0u, 3u, 5u, 6u})
    for (const auto& link : all_of(bad, 8)) slow.push_back(link);
  PairMatrix m = matrix(8, slow);
  const Blame found = blame(m);
  EXPECT_EQ(found.nodes, (std::vector<unsigned>{0, 3, 5, 6}));
  EXPECT_TRUE(found.links.empty());
}

TEST(Blame, OneDirectionOnly) {
  PairMatrix m = matrix(4, {});
  m.rate[0][3] = 0.4;
  EXPECT_EQ(blame(m).links, (std::vector<std::pair<unsigned, unsigned>>{{0, 3}}));
  EXPECT_TRUE(blame(m).nodes.empty());
}

TEST(Blame, PairsThatWereNotMeasuredSayNothing) {
  PairMatrix ring({"a", "b", "c", "d"});
  for (unsigned i = 0; i < 4; ++i) ring.rate[i][(i + 1) % 4] = i == 1 ? 0.3 : 1;
  const Blame found = blame(ring);
  EXPECT_EQ(found.links, (std::vector<std::pair<unsigned, unsigned>>{{1, 2}}));
  EXPECT_TRUE(found.nodes.empty());
}

/// "slow node: node3: 0.49 GB/s with its 3 partners, where others reach 0.98 GB/s", a line each.
std::vector<std::string> describe(const Blame& blame, const PairMatrix& matrix) {
  std::vector<std::string> lines;
  for (const PairFinding& one : pair_findings(blame, matrix))
    lines.push_back(one.kind + ": " + one.subject + ": " + one.reported);
  return lines;
}

TEST(Blame, IsReported) {
  const PairMatrix m = matrix(4, all_of(2, 4));
  const auto lines = describe(blame(m), m);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].rfind("slow node: node2: ", 0), 0u) << lines[0];
}

void cut(PairMatrix& m, unsigned a, unsigned b) {
  m.rate[a][b] = m.rate[b][a] = -1;
  m.unreached.push_back({a, b, "timed out"});
}

TEST(PairFindings, TwoThatGetThroughElsewhereAreALink) {
  PairMatrix m = matrix(4, {});
  cut(m, 1, 3);
  const auto found = pair_findings(blame(m), m);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].part, "link node1 to node3");
  EXPECT_EQ(found[0].reported, "timed out");
}

TEST(PairFindings, AnUnreachableEndIsANode) {
  PairMatrix m = matrix(4, {});
  for (const unsigned other : {0u, 1u, 3u}) cut(m, std::min(other, 2u), std::max(other, 2u));
  const auto found = pair_findings(blame(m), m);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].part, "node node2");
  EXPECT_EQ(found[0].reported, "no connection with node0, node1, node3 (timed out)");
}

/// Calls to `bad` fail, whoever makes them; pairs in which it calls, as the first of both does, are measured.
PairMatrix with_closed(unsigned nodes, unsigned bad) {
  PairMatrix m = matrix(nodes, {});
  for (unsigned other = 0; other < nodes; ++other) {
    if (other < bad)
      cut(m, other, bad);
    else if (other > bad)
      m.unreached.push_back({other, bad, "timed out"});
  }
  return m;
}

TEST(PairFindings, AClosedHostIsANodeWhereverItIs) {
  for (unsigned nodes = 3; nodes <= 8; ++nodes)
    for (unsigned bad = 0; bad < nodes; ++bad) {
      const PairMatrix m = with_closed(nodes, bad);
      const auto found = pair_findings(blame(m), m);
      ASSERT_EQ(found.size(), 1u) << nodes << " " << bad << " " << found[0].part << ", " << found[1].part;
      EXPECT_EQ(found[0].part, "node node" + std::to_string(bad));
      if (bad + 1 == nodes) continue;  // it calls nobody
      EXPECT_EQ(found[0].kind, "closed node");
      EXPECT_EQ(found[0].reported.find("incoming connections are blocked: "), 0u) << found[0].reported;
    }
  const PairMatrix two = with_closed(2, 0);
  EXPECT_EQ(pair_findings(blame(two), two).at(0).part, "node node0");
}

TEST(PairFindings, APathThatWorksInOneDirectionIsALink) {
  PairMatrix m = matrix(4, {});
  m.unreached = {{3, 1, "timed out"}};
  const auto found = pair_findings(blame(m), m);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].part, "link node1 to node3");
  EXPECT_EQ(found[0].reported, "node3 cannot connect to node1, the other way works (timed out)");
  const PairMatrix well = matrix(4, {});
  const PairMatrix middle = median_matrix({&m, &well});
  EXPECT_EQ(middle.unreached, m.unreached);
  EXPECT_EQ(middle.rate[1][3], 1) << "it was measured";
}

/// As of latencies: who gets through elsewhere is not known.
TEST(PairFindings, WithoutRatesNoNodeIsBlamedAndNoRailIsDead) {
  PairMatrix m({"node0", "node1"}, {"rail0", "rail1"});
  cut(m, 0, 1);
  const auto found = pair_findings(blame(m), m);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].part, "link node0 rail0 to node1 rail0");
}

TEST(PairFindings, TwoHalvesHaveNoBlamedNode) {  // 0 and 1 reach each other, and so do 2 and 3
  PairMatrix m = matrix(4, {});
  for (const unsigned a : {0u, 1u})
    for (const unsigned b : {2u, 3u}) cut(m, a, b);
  for (const PairFinding& one : pair_findings(blame(m), m)) EXPECT_EQ(one.part.rfind("link ", 0), 0u) << one.part;
  EXPECT_EQ(pair_findings(blame(m), m).size(), 4u);
}

TEST(PairFindings, BothDirectionsAreOneLink) {
  const PairMatrix m = matrix(4, {{2, 1}, {1, 2}});
  const auto found = pair_findings(blame(m), m);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].part, "link node1 to node2");
  EXPECT_EQ(found[1].part, "link node1 to node2");
}

TEST(PairFindings, ACommonLossIsNoShare) {
  const PairMatrix m = matrix(4, all_of(2, 4));
  const Blame found = blame(m);
  const PairFinding node = pair_findings(found, m).at(0);
  EXPECT_NEAR(*share_of(node, found, m), 0.5, 1e-9);
  PairMatrix slower = m, healthy = matrix(4, {});
  for (auto& row : slower.rate)
    for (double& rate : row) rate /= 10;
  EXPECT_NEAR(*share_of(node, found, slower), 0.5, 1e-9);
  EXPECT_NEAR(*share_of(node, found, healthy), 1, 1e-9);
}

TEST(PairMatrix, APartitionInOneOfSeveralIsUnreached) {
  PairMatrix a = matrix(3, {}), b = matrix(3, {}), c = matrix(3, {});
  for (PairMatrix* m : {&b, &c}) cut(*m, 0, 2);
  const PairMatrix middle = median_matrix({&a, &b, &c});
  EXPECT_EQ(middle.unreached, (std::vector<UnreachedPair>{{0, 2, "timed out"}}));
  EXPECT_EQ(middle.rate[0][2], -1);
  EXPECT_EQ(middle.rate[0][1], 1);
}

TEST(PairMatrix, MedianOfSeveral) {
  PairMatrix a = matrix(2, {}), b = matrix(2, {}), c = matrix(2, {});
  a.rate[0][1] = 5;
  b.rate[0][1] = -1;
  EXPECT_EQ(median_matrix({&a, &b, &c}).rate[0][1], 3);
  EXPECT_EQ(median_matrix({&a, &b, &c}).rate[0][0], -1);
}

TEST(PairRounds, RailsMeetTheirLikeOnEveryOtherNode) {
  for (const unsigned nodes : {2u, 3u, 4u, 8u}) {
    for (const bool at_once : {false, true}) {
      const unsigned rails = 3;
      std::set<std::pair<unsigned, unsigned>> met;
      for (const auto& round : rails_rounds(nodes, rails, at_once)) {
        std::set<unsigned> busy, of_rails;
        for (const auto& [a, b] : round) {
          EXPECT_EQ(a / nodes, b / nodes) << "two rails meet";
          of_rails.insert(a / nodes);
          EXPECT_TRUE(met.emplace(a, b).second);
          EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second);
        }
        EXPECT_EQ(of_rails.size(), at_once ? rails : 1);
        EXPECT_EQ(busy.size(), (nodes - nodes % 2) * of_rails.size());
      }
      EXPECT_EQ(met.size(), rails * nodes * (nodes - 1) / 2);
    }
  }
}

/// Every pair of a rail at that rail's rate.
PairMatrix rails(unsigned nodes, const std::vector<double>& rates) {
  std::vector<std::string> node_names, rail_names;
  for (unsigned i = 0; i < nodes; ++i) node_names.push_back("node" + std::to_string(i));
  for (unsigned i = 0; i < rates.size(); ++i) rail_names.push_back("eth" + std::to_string(i));
  PairMatrix m(node_names, rail_names);
  for (const auto& round : rails_rounds(nodes, static_cast<unsigned>(rates.size()), true))
    for (const auto& [a, b] : round) m.rate[a][b] = m.rate[b][a] = rates[a / nodes];
  return m;
}

void slow_end(PairMatrix& m, unsigned end, double rate) {
  for (unsigned other = 0; other < m.names.size(); ++other)
    if (m.rate[end][other] >= 0) m.rate[end][other] = m.rate[other][end] = rate;
}

TEST(Blame, NamesTheRailOfOneNode) {
  PairMatrix m = rails(4, {1e9, 1e9});
  slow_end(m, 4 + 2, 0.4e9);
  const Blame found = blame(m);
  EXPECT_EQ(found.nodes, std::vector<unsigned>{6});
  EXPECT_TRUE(found.links.empty() && found.rails.empty());
  const auto lines = describe(found, m);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("slow rail of a node: node2 eth1: "), 0u) << lines[0];
}

TEST(Blame, NamesTheNodeWhenAllItsRailsAreSlow) {
  PairMatrix m = rails(4, {1e9, 1e9});
  slow_end(m, 1, 0.4e9);
  slow_end(m, 4 + 1, 0.4e9);
  const auto lines = describe(blame(m), m);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("slow node: node1: "), 0u) << lines[0];
}

TEST(Blame, NamesAWholeRailAndNoNodeOnIt) {
  const PairMatrix m = rails(4, {1e9, 0.5e9});
  const Blame found = blame(m);
  EXPECT_EQ(found.rails, std::vector<unsigned>{1});
  EXPECT_TRUE(found.nodes.empty() && found.links.empty());
  EXPECT_EQ(describe(found, m).at(0).find("slow rail: eth1: "), 0u);
  EXPECT_TRUE(describe(blame(rails(4, {1e9, 0.9e9})), m).empty());
}

TEST(Blame, NamesALinkOfARail) {
  PairMatrix m = rails(4, {1e9, 1e9});
  m.rate[4][5] = 0.5e9;
  const Blame found = blame(m);
  EXPECT_TRUE(found.nodes.empty() && found.rails.empty());
  ASSERT_EQ(found.links.size(), 1u);
  EXPECT_EQ(describe(found, m).at(0).find("slow link: node0 eth1 to node1 eth1: "), 0u);
}

}  // namespace
}  // namespace headrace::pair_matrix_test
