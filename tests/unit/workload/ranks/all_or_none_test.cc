#include "harness/workload/ranks/team.h"

#include <gtest/gtest.h>

#include <mutex>

#include "tests/unit/thread_ranks.h"

namespace headrace::all_or_none_test {
namespace {

const std::vector<std::string> kHosts{"a", "b", "c"};

/// What each rank's step gave, or what it threw; then all meet once more.
std::vector<std::string> outcomes(const std::function<std::string(unsigned rank)>& step, bool& unsupported) {
  std::vector<std::string> all(kHosts.size());
  std::mutex mutex;
  on_ranks(kHosts, 5, [&](std::unique_ptr<Ranks> ranks) {
    std::string outcome;
    bool skips = false;
    try {
      for (const std::string& said : in_concert(*ranks, "a step", 5, [&] { return step(ranks->rank()); }))
        outcome += said;
    } catch (const Unsupported& e) {
      outcome = e.what();
      skips = true;
    } catch (const std::exception& e) {
      outcome = e.what();
    }
    EXPECT_EQ(ranks->all_gather("the next", std::to_string(ranks->rank()), 5),
              (std::vector<std::string>{"0", "1", "2"}));
    const std::lock_guard lock(mutex);
    all[ranks->rank()] = outcome;
    unsupported = skips;
  });
  return all;
}

TEST(InConcert, EachHearsTheOthers) {
  bool unsupported = false;
  EXPECT_EQ(outcomes([](unsigned rank) { return std::string(rank, 'x') + "|"; }, unsupported),
            std::vector<std::string>(3, "|x|xx|"));
}

TEST(InConcert, OneFailsAllFailAndTheNextExchangeIsInStep) {
  bool unsupported = true;
  const auto fails = [](unsigned rank) -> std::string {
    if (rank == 1) throw RunError("no cable");
    return "";
  };
  EXPECT_EQ(outcomes(fails, unsupported),
            (std::vector<std::string>{"rank 1 (b): no cable", "no cable", "rank 1 (b): no cable"}));
  EXPECT_FALSE(unsupported);
}

TEST(InConcert, AMissingAbilityOfOneStopsAll) {
  bool unsupported = false;
  const auto lacks = [](unsigned rank) -> std::string {
    if (rank == 2) throw Unsupported("no device");
    return "";
  };
  EXPECT_EQ(outcomes(lacks, unsupported)[0], "rank 2 (c): no device");
  EXPECT_TRUE(unsupported);
}

TEST(InConcert, NamesMissingRanks) {
  on_ranks({"a", "b"}, 5, [](std::unique_ptr<Ranks> ranks) {
    if (ranks->rank() == 1) return;
    try {
      in_concert(*ranks, "a step", 5, [] { return std::string(); });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const RanksError& e) {
      EXPECT_EQ(std::string(e.what()), "a step: rank 1 (b) has left the run");
    }
  });
}

TEST(InConcert, OwnTroubleSaysMoreThanThatAnotherIsGone) {
  on_ranks({"a", "b"}, 5, [](std::unique_ptr<Ranks> ranks) {
    if (ranks->rank() == 1) return;
    try {
      in_concert(*ranks, "a step", 5, []() -> std::string { throw RunError("nothing came from rank 1 (b)"); });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const RunError& e) {
      EXPECT_EQ(std::string(e.what()), "nothing came from rank 1 (b)");
    }
  });
}

}  // namespace
}  // namespace headrace::all_or_none_test
