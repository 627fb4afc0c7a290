#include "harness/workload/ranks/team.h"

#include <gtest/gtest.h>

#include "tests/unit/thread_ranks.h"

namespace headrace::team_test {
namespace {

TEST(Team, CountsItsMembersAndSpeaksAmongThem) {
  on_ranks({"a", "b", "b", "c"}, 5, [](std::unique_ptr<Ranks> all) {
    if (all->rank() == 0) return;
    ranks::Team team(*all, {1, 2, 3});
    EXPECT_EQ(team.size(), 3u);
    EXPECT_EQ(team.rank(), all->rank() - 1);
    EXPECT_EQ(team.nodes(), 2u);
    EXPECT_EQ(team.host(0), "b");
    EXPECT_EQ(team.places()[0].node, 0u);
    EXPECT_EQ(team.places()[1].local_rank, 1u);
    EXPECT_EQ(team.places()[2].node, 1u);
    EXPECT_EQ(team.who(2), "rank 3 (c)");  // as in the whole run
    EXPECT_EQ(team.all_gather("numbers", std::to_string(team.rank()), 5), (std::vector<std::string>{"0", "1", "2"}));
    if (team.rank() == 1) return;
    EXPECT_EQ(team.gather("numbers", {0, 2}, "x", 5, 2).size(), team.rank() == 2 ? 2u : 0u);
  });
}

TEST(Team, PlacesOfAFewCountFromZero) {
  on_ranks({"a", "b", "b"}, 5, [](std::unique_ptr<Ranks> all) {
    if (all->rank() != 2) return;
    const ranks::Team alone(*all, {2});
    EXPECT_EQ(alone.places()[0].local_rank, 0u);
    EXPECT_EQ(alone.places()[0].node, 0u);
  });
}

}  // namespace
}  // namespace headrace::team_test
