#include "harness/engine/explain/rank_findings.h"

#include <gtest/gtest.h>

namespace headrace::rank_findings_test {
namespace {

TEST(RankFindings, StragglersAreFarBelowTheMedian) {
  Repetition r;
  r.phases.emplace_back();
  for (unsigned rank = 0; rank < 5; ++rank) r.phases[0].ranks.push_back({rank, rank == 3 ? 2.0 : 1.0, 1, 1000, 10, 0});
  EXPECT_EQ(engine::stragglers(r), std::vector<unsigned>{3});
}

TEST(RankFindings, OperationsReportOnlyWhereThereAreNoBytes) {
  Repetition r;
  r.phases.emplace_back();
  for (unsigned rank = 0; rank < 3; ++rank) {
    r.phases[0].ranks.push_back({rank, 1, 1, 1, 10, 0});
    r.phases[0].ranks.back().operations = rank == 1 ? 1 : 10;
    r.phases[0].ranks.back().bytes = 1;
  }
  EXPECT_TRUE(engine::stragglers(r).empty());
  for (RankPhase& rank : r.phases[0].ranks) rank.bytes = 0;
  EXPECT_EQ(engine::stragglers(r), std::vector<unsigned>{1});
}

/// Of two nobody can say which one is slow.
TEST(RankFindings, ThreeRanksAreTheFewestThatHaveAStraggler) {
  const auto of = [](unsigned ranks) {
    Repetition r;
    r.phases.emplace_back();
    for (unsigned rank = 0; rank < ranks; ++rank)
      r.phases[0].ranks.push_back({rank, rank == 1 ? 2.0 : 1.0, 1, 1000, 10, 0});
    return engine::stragglers(r);
  };
  EXPECT_EQ(of(3), std::vector<unsigned>{1});
  EXPECT_TRUE(of(2).empty());
}

/// One end of a pair waits for both directions, and is as fast as the other.
TEST(RankFindings, PairsHaveNoStragglers) {
  Repetition r;
  r.phases.emplace_back();
  for (unsigned rank = 0; rank < 6; ++rank) r.phases[0].ranks.push_back({rank, rank < 3 ? 2.0 : 1.0, 1, 1000, 10, 0});
  EXPECT_EQ(engine::stragglers(r).size(), 3u);
  r.pairs.emplace();
  EXPECT_TRUE(engine::stragglers(r).empty());
}

}  // namespace
}  // namespace headrace::rank_findings_test
