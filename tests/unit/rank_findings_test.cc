#include "harness/engine/rank_findings.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(RankFindings, StragglersAreFarBelowTheMedian) {
  Repetition r;
  r.phases.emplace_back();
  for (unsigned rank = 0; rank < 5; ++rank) r.phases[0].ranks.push_back({rank, rank == 3 ? 2.0 : 1.0, 1, 1000, 10, 0});
  EXPECT_EQ(engine::stragglers(r), std::vector<unsigned>{3});
}

}  // namespace
}  // namespace headrace
