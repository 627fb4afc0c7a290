// How often fleets are judged rightly, by simulation with the product's own judging.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/fleet_runs.h"

namespace headrace::fleet::fleet_simulation_test {
namespace {

/// 64 nodes and 12 metrics; each node differs by 1.5 %, and 2 % of the values are a passing glitch
/// of 15 %. `bad` nodes are 12 % slow in one metric, always.
struct Simulated {
  std::size_t flagged = 0, confirmed = 0, found = 0;
};

Simulated simulate(int fleets, int bad) {
  Simulated sum;
  for (int f = 0; f < fleets; ++f) {
    Draws draws(static_cast<std::uint64_t>(1000 + f));
    Runs runs;
    for (int node = 1; node <= 64; ++node) {
      std::vector<double> first, again;
      for (int metric = 0; metric < 12; ++metric) {
        const double own = 1e9 * (1 + 0.015 * normal(draws)) * (node <= bad && metric == 0 ? 0.88 : 1);
        const auto once = [&] { return own * (1 + 0.004 * normal(draws)) * (draws.share() < 0.02 ? 0.85 : 1); };
        first.push_back(once());
        again.push_back(once());
      }
      runs.add(run_of(node, first, "2"));
      runs.add(run_of(node, again, "1"));
    }
    const Fleet fleet = runs.judged();
    sum.flagged += fleet.outliers.size();
    for (const Outlier& one : fleet.outliers) {
      if (one.status != Status::confirmed) continue;
      const bool is_bad = fleet.nodes[one.node].name <= name_of(bad) && one.metric == 0;
      ++(is_bad ? sum.found : sum.confirmed);
    }
  }
  return sum;
}

TEST(FleetSimulation, TheSecondRunTakesTheFalseFlagsAway) {
  const int fleets = 40;
  const Simulated s = simulate(fleets, 0);
  // About 15 glitches of each fleet are flagged; the second run leaves less than one.
  EXPECT_GT(s.flagged, 10u * fleets);
  EXPECT_LT(static_cast<double>(s.confirmed) / fleets, 0.8);
}

TEST(FleetSimulation, TrulySlowNodesAreFound) {
  const int fleets = 40;
  const Simulated s = simulate(fleets, 3);
  EXPECT_GE(static_cast<double>(s.found) / (3 * fleets), 0.9);
}

/// A thousand nodes that differ by 2 %, of which `lasting` (a share of the variance) is the node's
/// own and the rest the session's; each hundredth node is 10 % slow. Two sessions of all.
struct Thousand {
  std::size_t found = 0, accused = 0, most_accused = 0;
};

Thousand thousands(int fleets, double lasting) {
  Thousand sum;
  for (int f = 0; f < fleets; ++f) {
    Draws draws(static_cast<std::uint64_t>(77 + f));
    Runs runs;
    for (int node = 1; node <= 1000; ++node) {
      const double own = std::sqrt(lasting) * normal(draws);
      for (const char* day : {"1", "2"}) {
        const double session = std::sqrt(1 - lasting) * normal(draws);
        runs.add(run_of(node, {1e9 * (1 + 0.02 * (own + session)) * (node % 100 == 0 ? 0.9 : 1)}, day));
      }
    }
    const Fleet fleet = runs.judged();
    std::size_t accused = 0;
    for (const Outlier& one : fleet.outliers) {
      if (one.status != Status::confirmed) continue;
      const bool is_slow = std::stoi(fleet.nodes[one.node].name.substr(4)) % 100 == 0;
      ++(is_slow ? sum.found : accused);
    }
    EXPECT_TRUE(fleet.effects.empty());
    sum.accused += accused;
    sum.most_accused = std::max(sum.most_accused, accused);
  }
  return sum;
}

TEST(FleetSimulation, AHundredthOfAThousandIsFoundAfterTheSecondSession) {
  for (const double lasting : {0.0, 0.5, 0.9}) {
    const int fleets = 10;
    const Thousand s = thousands(fleets, lasting);
    EXPECT_GE(static_cast<double>(s.found) / (10 * fleets), 0.95) << lasting;
    EXPECT_LE(s.most_accused, 1u) << lasting;
  }
}

}  // namespace
}  // namespace headrace::fleet::fleet_simulation_test
