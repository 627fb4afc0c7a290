// How soon, and how rightly, adaptive pairs find what is bad: seeded fleets searched by the product's own code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/bringup/simulation/simulation.h"

namespace headrace::bringup::bringup_test {
namespace {

SimulationSummary of(const FleetPlan& plan, unsigned fleets) {
  return summary_of(simulate_fleets(plan, fleets, 1), plan.search);
}

FleetPlan plan_of(unsigned nodes, double loss) {
  FleetPlan plan;
  plan.nodes = nodes;
  plan.loss = loss;
  return plan;
}

TEST(BringUp, FindsTheBadPartsAndAccusesNoOther) {
  for (const double loss : {0.06, 0.15}) {
    const SimulationSummary sum = of(plan_of(300, loss), 8);
    EXPECT_NE(sum.word, Outcome::fail) << loss;
    EXPECT_LE(sum.most_rounds, 10u) << loss;
    EXPECT_LE(sum.undecided_nodes, 2u) << loss;  // after as many rounds
    EXPECT_LE(sum.fleets_with_false, 1u) << loss;
    EXPECT_EQ(sum.bad_nodes, 48u);
    EXPECT_LE(sum.missed_nodes, 1u) << loss;
    EXPECT_LE(sum.mean_rounds, 10) << loss;
    EXPECT_LT(sum.mean_pairs, 3 * 300) << loss;  // all pairs are 44,850
  }
}

TEST(BringUp, AccusesNoneAmongHealthyNodes) {
  FleetPlan plan = plan_of(300, 0.06);
  plan.bad = 0;
  plan.transient = 0.05;
  const SimulationSummary sum = of(plan, 6);
  EXPECT_EQ(sum.word, Outcome::pass);
  EXPECT_EQ(sum.fleets_with_false, 0u);
}

FleetPlan often_low_for_once(unsigned nodes, double bad) {
  FleetPlan plan = plan_of(nodes, 0.2);
  plan.bad = bad;
  plan.transient = 0.15;
  plan.transient_loss = 0.2;
  return plan;
}

TEST(BringUp, AccusesNoneWithOccasionalLowRates) {
  for (const double bad : {0.0, 0.02}) {
    const SimulationSummary sum = of(often_low_for_once(64, bad), 24);
    EXPECT_EQ(sum.fleets_with_false, 0u) << bad;
    EXPECT_EQ(sum.missed_nodes, 0u) << bad;
    EXPECT_LE(sum.undecided_nodes, 2u) << bad;
  }
}

/// Every way between these few is measured, once at least.
FleetPlan eight_nodes(FleetPlan plan) {
  plan.nodes = 8;
  plan.nodes_per_switch = 0;
  plan.search.every_link = true;
  return plan;
}

TEST(BringUp, AccusesNoneOfEightWhereRatesAreOftenLowForOnce) {
  EXPECT_EQ(of(eight_nodes(often_low_for_once(8, 0)), 100).fleets_with_false, 0u);
}

TEST(BringUp, ClearsEightWithNoisyRates) {
  FleetPlan plan = eight_nodes(often_low_for_once(8, 0));
  plan.noise = 0.045;
  plan.transient = 0.08;
  const SimulationSummary sum = of(plan, 60);
  EXPECT_EQ(sum.fleets_with_false, 0u);
  EXPECT_LE(sum.undecided_nodes, 4u);
}

TEST(BringUp, NamesALinkThatIsSlowEachTimeBetweenEight) {
  for (const double loss : {0.12, 0.5}) {
    FleetPlan plan = eight_nodes(plan_of(8, loss));
    plan.bad = 0;
    plan.bad_links = 0.03;
    const SimulationSummary sum = of(plan, 60);
    EXPECT_GE(sum.bad_links_met, 40u) << loss;
    EXPECT_GE(sum.found_links + 3, sum.bad_links_met) << loss;
    EXPECT_EQ(sum.fleets_with_false, 0u) << loss;
  }
}

TEST(BringUp, PassesNoSlowLinkWhereRatesAreOftenLowForOnce) {
  for (const double loss : {0.12, 0.5}) {
    FleetPlan plan = eight_nodes(often_low_for_once(8, 0));
    plan.loss = loss;
    plan.bad_links = 0.03;
    const SimulationSummary sum = of(plan, 100);
    EXPECT_GE(sum.bad_links_met, 60u) << loss;
    EXPECT_GE(sum.found_links, sum.bad_links_met / 2) << loss;
    EXPECT_EQ(sum.missed_links, 0u) << loss;
    EXPECT_EQ(sum.fleets_with_false, 0u) << loss;
  }
}

TEST(BringUp, FindsThreeBadNodesInTen) {
  FleetPlan plan = plan_of(256, 0.08);
  plan.bad = 0.3;
  const SimulationSummary sum = of(plan, 10);
  EXPECT_EQ(sum.bad_nodes, 770u);
  EXPECT_LE(sum.missed_nodes, 4u);
  EXPECT_LE(sum.undecided_nodes, 8u);
  EXPECT_EQ(sum.fleets_with_false, 0u);
}

TEST(BringUp, ReportsASlowSwitchFromItsNodes) {
  FleetPlan plan = plan_of(300, 0.15);
  plan.bad_switches = 1;
  const SimulationSummary sum = of(plan, 5);
  EXPECT_EQ(sum.found_switches, 5u);
  EXPECT_EQ(sum.false_nodes + sum.false_switches, 0u);
  EXPECT_EQ(sum.missed_nodes, 0u);
}

TEST(BringUp, AWrongPriorCostsRoundsAndNoTruth) {
  FleetPlan plan = plan_of(300, 0.06);
  plan.search.prior = {.bad_ends = 0.0005, .noise = 0.005, .transient = 0.001};
  const SimulationSummary sum = of(plan, 5);
  EXPECT_EQ(sum.fleets_with_false, 0u);
  EXPECT_LE(sum.missed_nodes, 1u);
  EXPECT_LE(sum.mean_rounds, 20);
}

TEST(BringUp, IsTheSameForTheSameSeed) {
  const FleetPlan plan = plan_of(100, 0.06);
  const SimulatedFleet a = simulate(plan, 7), b = simulate(plan, 7);
  EXPECT_EQ(a.rounds, b.rounds);
  EXPECT_EQ(a.pairs, b.pairs);
}

TEST(BringUp, SaysUndecidedWhereRoundsEndTooSoon) {
  FleetPlan plan = plan_of(100, 0.06);
  plan.search.most_rounds = 1;
  const SimulationSummary sum = of(plan, 3);
  EXPECT_EQ(sum.word, Outcome::inconclusive);
  EXPECT_EQ(sum.false_nodes, 0u);
  EXPECT_GT(sum.undecided_nodes, 0u);
}

TEST(BringUp, ASimulationCanFail) {
  SimulatedFleet wrong, right;
  wrong.false_nodes = 1;
  std::vector<SimulatedFleet> fleets(200, right);
  EXPECT_EQ(summary_of(fleets, {}).word, Outcome::pass);
  std::fill_n(fleets.begin(), 5, wrong);
  EXPECT_EQ(summary_of(fleets, {}).word, Outcome::pass);  // by chance, with 1 %
  std::fill_n(fleets.begin(), 6, wrong);
  EXPECT_EQ(summary_of(fleets, {}).word, Outcome::fail);
  EXPECT_EQ(summary_of({wrong}, {}).word, Outcome::fail);
  SimulatedFleet missing = right;
  missing.bad_nodes = 20;
  missing.missed_nodes = 5;
  EXPECT_EQ(summary_of({missing}, {}).word, Outcome::fail);
  EXPECT_NEAR(at_least(1, 10, 0.1), 1 - std::pow(0.9, 10), 1e-12);
  EXPECT_EQ(at_least(0, 10, 0.1), 1);
}

/// Rates by a rule, over the rounds that the search asks for.
template <class Rate>
Search searched(const Topology& topology, Rate rate) {
  Search search(topology, {});
  for (Round round = search.next(); !round.empty(); round = search.next()) {
    std::vector<bool> busy(topology.nodes, false);
    std::vector<PairRate> measured;
    for (const auto& [a, b] : round) {
      EXPECT_NE(a, b);
      EXPECT_FALSE(busy[a] || busy[b]) << "a node is in two pairs at once";
      busy[a] = busy[b] = true;
      for (unsigned rail = 0; rail < topology.rails; ++rail)
        measured.push_back({a, b, rail, rate(a, b, rail, search.rounds())});
    }
    search.add(measured);
  }
  return search;
}

/// 1 % of noise, the same each time.
double noisy(unsigned a, unsigned b, unsigned rail, unsigned round) {
  Random draw((std::uint64_t{a} << 40) ^ (std::uint64_t{b} << 20) ^ (rail << 10) ^ round);
  return 1e9 * (1 + 0.01 * (static_cast<double>(draw.next() >> 11) * 0x1p-52 - 1));
}

TEST(BringUp, NamesTheOneOfEightThatIsTwelvePercentSlow) {
  const Search search = searched({.nodes = 8, .rails = 1, .switch_of = {}}, [](auto a, auto b, auto rail, auto round) {
    return noisy(a, b, rail, round) * (a == 3 || b == 3 ? 0.88 : 1);
  });
  ASSERT_EQ(search.findings().size(), 1u);
  EXPECT_EQ(search.findings()[0].scope, Finding::Scope::node);
  EXPECT_EQ(search.findings()[0].a, 3u);
  EXPECT_NEAR(search.findings()[0].loss, 0.12, 0.03);
  EXPECT_LT(search.findings()[0].healthy, 0.005);
  EXPECT_TRUE(search.undecided().empty());
}

TEST(BringUp, NamesOneNicOfANode) {
  const Search search = searched({.nodes = 16, .rails = 2, .switch_of = {}}, [](auto a, auto b, auto rail, auto round) {
    return noisy(a, b, rail, round) * (rail == 1 ? 0.5 : 1) * (rail == 1 && (a == 5 || b == 5) ? 0.7 : 1);
  });
  ASSERT_EQ(search.findings().size(), 1u);
  EXPECT_EQ(search.findings()[0].scope, Finding::Scope::nic);
  EXPECT_EQ(search.findings()[0].a, 5u);
  EXPECT_EQ(search.findings()[0].rail, 1u);
}

TEST(BringUp, AMissingPartOfANodeIsNotAwaited) {
  const Topology topology{.nodes = 16, .rails = 2, .switch_of = {}, .absent = {16 + 5}};
  Search search(topology, {});
  for (Round round = search.next(); !round.empty(); round = search.next()) {
    std::vector<PairRate> measured;
    for (const auto& [a, b] : round)
      for (unsigned rail = 0; rail < 2; ++rail)
        if (topology.has(a, rail) && topology.has(b, rail))
          measured.push_back({a, b, rail, noisy(a, b, rail, search.rounds()) * (a == 5 || b == 5 ? 0.7 : 1)});
    search.add(measured);
  }
  EXPECT_TRUE(search.undecided().empty());
  ASSERT_EQ(search.findings().size(), 1u);
  EXPECT_EQ(search.findings()[0].scope, Finding::Scope::node);  // all that it has is slow
  EXPECT_EQ(search.findings()[0].a, 5u);
}

TEST(BringUp, NamesASwitchWithNodesSlowByOneRail) {
  Topology topology{.nodes = 64, .rails = 2, .switch_of = {}};
  for (unsigned node = 0; node < 64; ++node) topology.switch_of.push_back(node / 8);
  const Search search = searched(topology, [](auto a, auto b, auto rail, auto round) {
    return noisy(a, b, rail, round) * (rail == 1 && (a / 8 == 2 || b / 8 == 2) ? 0.8 : 1);
  });
  ASSERT_EQ(search.findings().size(), 1u);
  EXPECT_EQ(search.findings()[0].scope, Finding::Scope::switch_fabric);
  EXPECT_EQ(search.findings()[0].a, 2u);
  EXPECT_LT(search.findings()[0].healthy, 0.0025);
  EXPECT_NEAR(search.findings()[0].loss, 0.2, 0.06);
}

TEST(BringUp, NamesASwitchWithMostNodesSlow) {
  Topology topology{.nodes = 64, .rails = 1, .switch_of = {}};
  for (unsigned node = 0; node < 64; ++node) topology.switch_of.push_back(node / 8);
  const Search search = searched(topology, [](auto a, auto b, auto rail, auto round) {
    return noisy(a, b, rail, round) * (a / 8 == 2 || b / 8 == 2 ? 0.8 : 1);
  });
  ASSERT_EQ(search.findings().size(), 1u);
  EXPECT_EQ(search.findings()[0].scope, Finding::Scope::switch_fabric);
  EXPECT_EQ(search.findings()[0].a, 2u);
  EXPECT_LT(search.findings()[0].healthy, 0.0025);
}

TEST(BringUp, TwoNodesCannotDecideWhichIsSlow) {
  const Search search = searched({.nodes = 2, .rails = 1, .switch_of = {}},
                                 [](auto a, auto b, auto rail, auto round) { return noisy(a, b, rail, round); });
  EXPECT_TRUE(search.findings().empty());
}

TEST(BringUp, ALostNodeIsInNoFurtherPairAndTheOthersAreJudged) {
  Search search({.nodes = 9, .rails = 1, .switch_of = {}}, {});
  search.lose(4);
  while (true) {
    const Round round = search.next();
    if (round.empty()) break;
    std::vector<PairRate> measured;
    for (const auto& [a, b] : round) {
      ASSERT_TRUE(a != 4 && b != 4);
      measured.push_back({a, b, 0, noisy(a, b, 0, search.rounds())});
    }
    search.add(measured);
  }
  EXPECT_TRUE(search.findings().empty());
  EXPECT_TRUE(search.undecided().empty());
}

}  // namespace
}  // namespace headrace::bringup::bringup_test
