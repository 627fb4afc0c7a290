#include "harness/workload/data/ramp.h"

#include <gtest/gtest.h>

#include "tests/unit/workload_runner.h"

namespace headrace::ramp_test {
namespace {

using testing::problems_of;
using testing::WorkloadRunner;

TEST(ClimbTest, FindsWhereItEndsFromBelowAndFromAbove) {
  for (const double truth : {30.0, 480.0, 1.7e6}) {
    for (const double start : {truth / 100, truth, truth * 50}) {
      int tries = 0;
      const Climb found = climb(start, [&](double rate) {
        ++tries;
        return Rung{.rate = rate, .held = rate <= truth, .p99_s = 0, .why = ""};
      });
      EXPECT_TRUE(found.held);
      EXPECT_LE(found.rate, truth);
      EXPECT_GT(found.rate, truth / 1.05);
      EXPECT_LT(tries, 30);
      EXPECT_EQ(found.rungs.front().rate, start);
    }
  }
}

TEST(ClimbTest, ARateIsGivenUpOnlyAfterTwoFailures) {
  int tries = 0;
  const Climb found = climb(100, [&](double rate) {
    return Rung{.rate = rate, .held = rate <= 1000 && ++tries % 2 == 0, .p99_s = 0, .why = "x"};
  });
  EXPECT_GT(found.rate, 950);
}

TEST(ClimbTest, StaysBetweenOneInTenSecondsAndABillionPerSecond) {
  std::vector<double> tried;
  const auto up_to = [&tried](double truth) {
    tried.clear();
    return [&tried, truth](double rate) {
      tried.push_back(rate);
      return Rung{.rate = rate, .held = rate <= truth, .p99_s = 0, .why = ""};
    };
  };
  EXPECT_EQ(climb(3e8, up_to(1e12)).rate, 1e9);
  EXPECT_EQ(tried, (std::vector<double>{3e8, 6e8, 1e9}));
  EXPECT_EQ(climb(1e12, up_to(1e12)).rate, 1e9);
  EXPECT_EQ(tried, std::vector<double>{1e9});
  EXPECT_FALSE(climb(0.3, up_to(0)).held);
  EXPECT_EQ(tried, (std::vector<double>{0.3, 0.3, 0.15, 0.15, 0.1, 0.1})) << "each of them twice";
  const Climb seldom = climb(0.01, up_to(0.5));
  EXPECT_EQ(tried.front(), 0.1);
  EXPECT_TRUE(seldom.held);
  EXPECT_NEAR(seldom.rate, 0.5, 0.025);
}

TEST(ClimbTest, SaysWhenNothingHolds) {
  const Climb found =
      climb(10, [](double rate) { return Rung{.rate = rate, .held = false, .p99_s = 1, .why = "slow"}; });
  EXPECT_FALSE(found.held);
  EXPECT_DOUBLE_EQ(found.rate, 0.1);
  EXPECT_TRUE(to_string(found).starts_with("10.0/s (no: slow), 5.00/s")) << to_string(found);
}

TEST(RampTest, LeavesTheWorkloadAtARateThatHeldAndReportsTheLadder) {
  // Read from memory; a p99 of a minute holds at any rate that is sustained.
  WorkloadRunner runner("random_read",
                        "files: 1\nfile_size: 1MiB\nreads: 20\nworkers: 1\nramp: true\n"
                        "p99_limit: 60s\nrate: 400/s\n");
  runner.prepare();
  EXPECT_EQ(runner->latency_parts().back(), "queue");
  runner.search(CacheState::warm);
  const auto notes = runner->notes();
  ASSERT_FALSE(notes.empty());
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.starts_with("ramp: ") && note.find("tried: 400/s (") != note.npos;
  })) << notes.front();
  EXPECT_EQ(runner.repeat().phases.front().operations, 20u);
  EXPECT_GT(runner.metrics.at("offered_rate"), 0);
}

TEST(RampTest, RejectsInvalidParameters) {
  EXPECT_EQ(problems_of("random_read", "ramp: true\n"),
            "test.yaml:1:1: random_read: p99_limit: a ramp needs a limit, such as 20ms\n");
  EXPECT_EQ(problems_of("small_file_read", "rate: 5/s\np99_limit: 20ms\n"),
            "test.yaml:2:12: small_file_read: p99_limit: only a ramp has a limit: give 'ramp: "
            "true' too\n");
}

}  // namespace
}  // namespace headrace::ramp_test
