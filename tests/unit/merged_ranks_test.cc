// What several ranks gave as one repetition: rates of phases, steadiness and disturbance of all
// together. (How each gives it: together_test.cc.)
#include <gtest/gtest.h>

#include <cmath>

#include "harness/engine/rank_sync.h"
#include "tests/unit/thread_ranks.h"

namespace headrace {
namespace {

using Each = std::function<Repetition(unsigned rank)>;

/// Of `size` ranks on nodes of their own, merged at rank 0.
Repetition merged(unsigned size, const std::vector<MetricInfo>& catalogue, const Each& each) {
  std::vector<std::string> hosts;
  for (unsigned r = 0; r < size; ++r) hosts.push_back("node" + std::to_string(r));
  Repetition first;
  on_ranks(hosts, 30, [&](std::unique_ptr<Ranks> ranks) {
    const engine::RankSync together(*ranks);
    Repetition all = together.merged(each(ranks->rank()), ranks->everyone(), AcrossRanks::add, catalogue);
    ranks->barrier("the end", 30);
    if (ranks->rank() == 0) first = std::move(all);
  });
  return first;
}

/// 10 ops/s for `seconds`, with `rate(i)` bytes/s in the i-th.
PhaseResult phase(unsigned seconds, const std::function<double(unsigned)>& rate) {
  PhaseResult p;
  p.must_be = Level::level;
  p.elapsed_s = p.first_finish_s = seconds;
  for (unsigned i = 0; i < seconds; ++i) {
    p.series.push_back({.time_s = i + 0.5, .bytes_per_s = rate(i), .operations_per_s = 10});
    p.bytes += static_cast<std::uint64_t>(rate(i));
    p.operations += 10;
  }
  return p;
}

/// Opens of all ranks over the slowest one's time for opening, whatever else took how long.
TEST(MergedRanks, ARateIsOfItsOwnPhase) {
  const std::vector<MetricInfo> catalogue{{.name = "open_rate", .unit = "1/s"}};
  const Repetition all = merged(3, catalogue, [](unsigned rank) {
    Repetition r;
    const unsigned opening = 10 * (rank + 1), listing = 500 / (rank + 1);
    r.phases = {phase(opening, [](unsigned) { return 1.0; }), phase(listing, [](unsigned) { return 1.0; })};
    r.metrics = {{"open_rate", 300.0 / opening, static_cast<double>(opening)}};
    return r;
  });
  ASSERT_EQ(all.metrics.size(), 1u);
  EXPECT_DOUBLE_EQ(all.metrics[0].value, 900.0 / 30);
  EXPECT_EQ(all.metrics[0].seconds, 30);
}

/// Each rank has its ups and downs; together they are level.
TEST(MergedRanks, SteadinessIsThatOfAllTogether) {
  const auto step = [](bool up) { return [up](unsigned i) { return (i < 32) == up ? 80.0 + i % 3 : 120.0 + i % 3; }; };
  const auto ranks = [&](unsigned falling) {
    return merged(8, {}, [&](unsigned rank) {
      Repetition r;
      r.phases = {phase(64, step(rank >= falling))};
      r.steady = false;
      r.steady_why = "the second half is 50 % faster";
      return r;
    });
  };
  EXPECT_TRUE(ranks(4).steady) << ranks(4).steady_why;
  const Repetition uneven = ranks(8);
  EXPECT_FALSE(uneven.steady);
  EXPECT_EQ(uneven.steady_why.find("all ranks together: the second half is 3"), 0u) << uneven.steady_why;
}

/// Of 64 ranks on quiet machines some have always been disturbed a little.
TEST(MergedRanks, AFewOfManyRanksDisturbNothing) {
  const auto disturbed = [](const std::function<bool(unsigned)>& hit, unsigned slowest) {
    return merged(64, {},
                  [&](unsigned rank) {
                    Repetition r;
                    r.phases = {phase(32, [&](unsigned i) { return (rank == slowest ? 90.0 : 100.0) + i % 3; })};
                    r.disturbance.disturbed = hit(rank);
                    r.disturbance.why = hit(rank) ? "foreign I/O" : "";
                    return r;
                  })
        .disturbance;
  };
  EXPECT_FALSE(disturbed([](unsigned rank) { return rank % 16 == 3; }, 5).disturbed);
  const Disturbance slow = disturbed([](unsigned rank) { return rank == 5; }, 5);
  EXPECT_TRUE(slow.disturbed);
  EXPECT_EQ(slow.why, "rank 5 (node5): foreign I/O");
  const Disturbance many = disturbed([](unsigned rank) { return rank < 22; }, 50);
  EXPECT_TRUE(many.disturbed);
  EXPECT_NE(many.why.find("; and 19 more ranks"), std::string::npos) << many.why;
}

}  // namespace
}  // namespace headrace
