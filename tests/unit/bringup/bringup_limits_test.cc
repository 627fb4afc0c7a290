// The limits of the search: each just within, and just beyond. All pairs are measured at once.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "harness/bringup/blame/evidence.h"
#include "harness/bringup/blame/search.h"

namespace headrace::bringup::bringup_limits_test {
namespace {

/// Up to 1 % of noise, the same each time.
double noisy(unsigned a, unsigned b, unsigned rail, unsigned turn) {
  Random draw((std::uint64_t{a} << 40) ^ (std::uint64_t{b} << 20) ^ (rail << 10) ^ turn);
  return 1e9 * (1 + 0.01 * (static_cast<double>(draw.next() >> 11) * 0x1p-53));
}

/// All pairs meet so often, at this share of the usual rate; 0: these two do not meet.
template <class Share>
Search searched(const Topology& topology, const SearchOptions& options, unsigned times, Share share) {
  Search search(topology, options);
  for (unsigned turn = 0; turn < times; ++turn) {
    std::vector<PairRate> measured;
    for (unsigned b = 1; b < topology.nodes; ++b)
      for (unsigned a = 0; a < b; ++a)
        for (unsigned rail = 0; rail < topology.rails; ++rail)
          if (const double of_usual = share(a, b, rail); of_usual > 0 && topology.has(a, rail) && topology.has(b, rail))
            measured.push_back({a, b, rail, of_usual * noisy(a, b, rail, turn)});
    search.add(measured);
  }
  return search;
}

Topology four_switches(unsigned rails = 1) {
  Topology topology{.nodes = 32, .rails = rails};
  for (unsigned node = 0; node < 32; ++node) topology.switch_of.push_back(node / 8);
  return topology;
}

/// The way out of switch 2 is slow, and few pairs take it.
double slow_way_out(unsigned a, unsigned b) {
  if ((a / 8 == 2) == (b / 8 == 2)) return 1;
  return a % 8 == b % 8 ? 0.8 : 0;
}

TEST(BringUpLimits, NodesMayUseHalfOfTheChanceOfAFalseAccusation) {
  const auto with = [](double alpha) {
    return searched({.nodes = 8}, {.alpha = alpha}, 2,
                    [](auto a, auto b, auto) { return a == 3 || b == 3 ? 0.88 : 1; });
  };
  const double wrong = healthy(with(0.01).posterior().end(3, 0));
  EXPECT_GT(wrong, 0);
  EXPECT_EQ(with(2.02 * wrong).node(3), PartState::accused);
  EXPECT_NE(with(1.98 * wrong).node(3), PartState::accused);
}

TEST(BringUpLimits, LinksMayUseAQuarterOfIt) {
  const auto with = [](double alpha) {
    return searched({.nodes = 8}, {.alpha = alpha}, 6, [](auto a, auto b, auto) { return a == 1 && b == 4 ? 0.7 : 1; });
  };
  const Search first = with(0.01);
  double wrong = 0;
  for (const Posterior::Link& link : first.posterior().links())
    if (link.a == 1 && link.b == 4) wrong = healthy(link.belief);
  EXPECT_GT(wrong, 0);
  const std::vector<Finding> found = with(4.04 * wrong).findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].scope, Finding::Scope::link);
  EXPECT_TRUE(with(3.96 * wrong).findings().empty());
}

TEST(BringUpLimits, SwitchesMayUseAQuarterOfIt) {
  const auto with = [](double alpha) {
    return searched(four_switches(), {.alpha = alpha}, 2, [](auto a, auto b, auto) { return slow_way_out(a, b); });
  };
  const double wrong = healthy(with(0.01).posterior().leaf_switch(2));
  EXPECT_GT(wrong, 0);
  const std::vector<Finding> found = with(4.04 * wrong).findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].scope, Finding::Scope::switch_fabric);
  EXPECT_EQ(found[0].a, 2u);
  EXPECT_TRUE(with(3.96 * wrong).findings().empty());
}

TEST(BringUpLimits, AFifthOfBetaIsAllowedForTheModel) {
  const auto with = [](double beta) {
    return searched({.nodes = 8}, {.beta = beta}, 1, [](auto, auto, auto) { return 1.0; });
  };
  const Search first = with(0.05);
  double all = 0;
  for (unsigned node = 0; node < 8; ++node) all += bad(first.posterior().end(node, 0));
  const double beta = all / (0.2 * (0.5 + all));
  EXPECT_TRUE(with(1.01 * beta).undecided().empty());
  EXPECT_FALSE(with(0.99 * beta).undecided().empty());
}

TEST(BringUpLimits, ThreeMeasurementsAccuseNoNode) {
  for (const unsigned partners : {3u, 4u}) {
    const Search search = searched({.nodes = 8}, {.alpha = 0.5}, 1, [&](auto a, auto b, auto) {
      if (b != 7) return 1.0;
      return a < partners ? 0.7 : 0.0;
    });
    EXPECT_GT(bad(search.posterior().end(7, 0)), 0.9);
    EXPECT_EQ(search.node(7) == PartState::accused, partners == 4);
  }
}

/// The nodes from `first` to `end` of switch 2 (16 to 23) are slow by a rail; those before `has` lack it.
std::vector<Finding> of_slow_nodes(unsigned first, unsigned end, unsigned has = 16, unsigned of_rail = 1) {
  Topology topology = four_switches(2);
  for (unsigned node = 16; node < has; ++node) topology.absent.insert(of_rail * topology.nodes + node);
  const auto slow = [=](unsigned node) { return node >= first && node < end; };
  const auto share = [&](auto a, auto b, auto rail) { return rail == of_rail && (slow(a) || slow(b)) ? 0.8 : 1; };
  return searched(topology, {}, 1, share).findings();
}

TEST(BringUpLimits, FourNodesAndTwoThirdsOfASwitchAreTheSwitch) {
  for (const auto& found :
       {of_slow_nodes(16, 22), of_slow_nodes(16, 22, 16, 0), of_slow_nodes(19, 24, 19), of_slow_nodes(20, 24, 20)}) {
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].scope, Finding::Scope::switch_fabric);
    EXPECT_EQ(found[0].a, 2u);
    EXPECT_NEAR(found[0].loss, 0.2, 0.03);
  }
  for (const auto& [found, nics] : {std::pair(of_slow_nodes(16, 21), 5u), std::pair(of_slow_nodes(21, 24, 21), 3u)}) {
    ASSERT_EQ(found.size(), nics);
    for (const Finding& one : found) EXPECT_TRUE(one.scope == Finding::Scope::nic && one.rail == 1);
  }
}

TEST(BringUpLimits, TheLossOfANodeIsTheMeanOfItsRails) {
  const auto found = searched({.nodes = 16, .rails = 2}, {}, 1, [](auto a, auto b, auto) {
                       return a == 5 || b == 5 ? 0.8 : 1;
                     }).findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].scope, Finding::Scope::node);
  EXPECT_NEAR(found[0].loss, 0.2, 0.03);
}

/// Each node meets so many next ones; bad: two of five nodes.
Posterior in_a_ring(unsigned nodes, unsigned next, bool any_bad) {
  Posterior posterior({.nodes = nodes}, {});
  const auto slow = [&](unsigned node) { return any_bad && node % 5 < 2; };
  for (unsigned a = 0; a < nodes; ++a)
    for (unsigned k = 1; k <= next; ++k)
      posterior.add({a, (a + k) % nodes, 0, slow(a) || slow((a + k) % nodes) ? 0.8e9 : 1e9});
  posterior.update();
  return posterior;
}

TEST(BringUpLimits, NoiseStaysWithinItsLimits) {
  const Posterior quiet = in_a_ring(250, 3, false), loud = in_a_ring(100, 10, true);
  EXPECT_DOUBLE_EQ(quiet.noise().spread, 0.004);
  EXPECT_DOUBLE_EQ(quiet.noise().transient, 0.005);
  EXPECT_DOUBLE_EQ(quiet.noise().bad_ends, 0.002);
  const double error = quiet.noise().most_transient - quiet.noise().transient;
  EXPECT_NEAR(error, std::sqrt(0.005 * 0.995 / (20 + 750)), 5e-5);
  EXPECT_DOUBLE_EQ(loud.noise().bad_ends, 0.3);
  EXPECT_NEAR(loud.noise().reference[0], 1e9, 1e7);
}

using Wrong = std::function<void(PairMeasured&)>;

std::vector<Fault> faults_with(const std::vector<Topology>& networks, const Wrong& wrong) {
  Evidence evidence(networks, {});
  for (unsigned turn = 0; turn < 2; ++turn) {
    std::vector<PairMeasured> all;
    unsigned rail = 0;
    for (const Topology& network : networks)
      for (unsigned own = 0; own < network.rails; ++own, ++rail)
        for (unsigned b = 1; b < network.nodes; ++b)
          for (unsigned a = 0; a < b; ++a) {
            if (!network.has(a, own) || !network.has(b, own)) continue;
            const double rate = noisy(a, b, rail, turn);
            all.push_back({a, b, rail, {rate, rate}, {}, 30e-6});
            wrong(all.back());
            if (all.back().rate[0] <= 0) all.pop_back();
          }
    evidence.add(all);
  }
  return evidence.faults();
}

/// Node 3 is slow over some rails, and late over others.
Wrong of_node_3(const std::set<unsigned>& slow, const std::set<unsigned>& late = {}) {
  return [=](PairMeasured& one) {
    if (one.a != 3 && one.b != 3) return;
    if (slow.contains(one.rail)) one.rate[1] *= 0.7;
    if (late.contains(one.rail)) one.latency_s += 300e-6;
  };
}

using In = std::vector<Quality>;
void expect_one(const std::vector<Fault>& faults, Finding::Scope scope, unsigned rail, const In& in) {
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].scope, scope);
  EXPECT_EQ(faults[0].a, 3u);
  EXPECT_EQ(faults[0].rail, rail);
  EXPECT_EQ(faults[0].in, in);
}

TEST(BringUpLimits, ANodeThatIsWellInTheOtherNetworkHasABadNic) {
  using enum Finding::Scope;
  const Topology one{.nodes = 12}, two{.nodes = 12, .rails = 2};
  const In rate{Quality::rate};
  expect_one(faults_with({one, one}, of_node_3({0})), nic, 0, rate);
  expect_one(faults_with({one, one}, of_node_3({1})), nic, 1, rate);
  expect_one(faults_with({one, one}, of_node_3({0, 1})), node, 0, rate);
  expect_one(faults_with({one, one}, of_node_3({0}, {1})), node, 0, {Quality::rate, Quality::latency});
  expect_one(faults_with({two, one}, of_node_3({0, 1})), node, 0, rate);
  Topology without = one;
  without.absent = {3};
  expect_one(faults_with({one, without}, of_node_3({0})), node, 0, rate);
}

TEST(BringUpLimits, FaultsOfOneNicAreOne) {
  const Topology two{.nodes = 12, .rails = 2};
  expect_one(faults_with({two}, of_node_3({1}, {1})), Finding::Scope::nic, 1, {Quality::rate, Quality::latency});
  const std::vector<Fault> both = faults_with({two}, of_node_3({0}, {1}));
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].rail + both[1].rail, 1u);
}

TEST(BringUpLimits, ASwitchIsNamedOnceForBothNetworks) {
  const std::vector<Fault> faults = faults_with({four_switches(), four_switches()}, [](PairMeasured& one) {
    for (double& rate : one.rate) rate *= slow_way_out(one.a, one.b);
  });
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].scope, Finding::Scope::switch_fabric);
  EXPECT_EQ(faults[0].a, 2u);
}

}  // namespace
}  // namespace headrace::bringup::bringup_limits_test
