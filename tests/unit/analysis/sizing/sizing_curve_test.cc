// Supply over the number of clients: between, below and beyond measured counts.
#include <gtest/gtest.h>

#include "harness/analysis/sizing/curve.h"

namespace headrace::sizing::sizing_curve_test {
namespace {

Curve curve(const std::vector<std::pair<unsigned, double>>& rates, bool per_node = false, double bound = 0.1) {
  std::vector<Measurement> all;
  for (const auto& [clients, rate] : rates) {
    Measurement m;
    m.clients = clients;
    m.mean = rate;
    m.low = rate * (1 - bound);
    m.high = rate * (1 + bound);
    all.push_back(m);
  }
  return Curve(std::move(all), per_node);
}

TEST(SizingCurve, BetweenCountsLiesAStraightLine) {
  const Curve c = curve({{2, 20}, {6, 40}});
  const Curve::Value v = c.at(3);
  EXPECT_DOUBLE_EQ(v.mean, 25);
  EXPECT_DOUBLE_EQ(v.low, 22.5);
  EXPECT_DOUBLE_EQ(v.high, 27.5);
  EXPECT_EQ(v.basis, Basis::modelled);
  EXPECT_EQ(c.at(6).basis, Basis::measured);
  EXPECT_DOUBLE_EQ(c.at(2).mean, 20);
  EXPECT_EQ(c.at(2).basis, Basis::measured);
  EXPECT_EQ(c.measured_to(), 6u);
}

TEST(SizingCurve, FewerClientsGetAtLeastTheirPartAndAtMostAll) {
  const Curve::Value v = curve({{4, 40}}).at(1);
  EXPECT_DOUBLE_EQ(v.mean, 10);
  EXPECT_DOUBLE_EQ(v.low, 9);
  EXPECT_DOUBLE_EQ(v.high, 44);
  EXPECT_EQ(v.basis, Basis::modelled);
  EXPECT_DOUBLE_EQ(curve({{4, 40}}, true).at(1).high, 11);  // each node has its own
}

TEST(SizingCurve, MoreClientsGetAsMuchAsASimulationExpects) {
  const Curve c = curve({{1, 10}, {4, 25}});
  const Curve::Value v = c.at(16);
  const simulate::Quantiles expected = simulate::expected_rate(c.supply(), 16);
  EXPECT_DOUBLE_EQ(v.mean, expected.median);
  EXPECT_DOUBLE_EQ(v.low, expected.low);
  EXPECT_DOUBLE_EQ(v.high, expected.high);
  EXPECT_EQ(v.basis, Basis::extrapolated);
  EXPECT_LT(v.mean, 0.8 * 100);  // the largest count times four
  EXPECT_LT(v.low, 0.9 * v.mean);
  EXPECT_GT(v.high, 1.1 * v.mean);
  EXPECT_NEAR(curve({{1, 10}, {4, 40}}, false, 0).at(16).mean, 160, 1e-9);
  EXPECT_DOUBLE_EQ(curve({{4, 40}}, true).at(8).mean, 80);  // each has its own
  EXPECT_EQ(curve({{4, 40}}, true).at(8).basis, Basis::modelled);
  EXPECT_DOUBLE_EQ(curve({{1, 0}, {4, 0}}).at(8).high, 0);
}

TEST(SizingCurve, WhereItStoppedGrowingMoreClientsGetNoMore) {
  EXPECT_NEAR(curve({{1, 10}, {4, 12}}, false, 0.01).at(8).mean, 12, 0.05);
  EXPECT_NEAR(curve({{1, 10}, {4, 12}}, false, 0.01).at(8).high, 1.01 * 12, 0.05);
  // The means alone say that it stopped: more is still possible.
  const Curve maybe = curve({{1, 10}, {4, 12}});
  EXPECT_TRUE(maybe.saturated());
  EXPECT_GT(maybe.at(8).high, 1.2 * 12);
  EXPECT_LT(maybe.at(8).high, 2 * 12);
  EXPECT_FALSE(curve({{1, 10}, {4, 13.1}}).saturated());
}

TEST(SizingCurve, OneCountSaysNothingOfMore) {
  EXPECT_EQ(curve({{1, 10}}).reach(64), 1);
  EXPECT_EQ(curve({{4, 10}}).reach(2), 2);
  EXPECT_EQ(curve({{1, 10}}, true).reach(64), 64);     // each has its own
  EXPECT_EQ(curve({{1, 10}, {4, 40}}).reach(64), 64);  // two show how it grows
  EXPECT_EQ(curve({{1, 10}, {4, 11}}).reach(64), 64);
  const auto of_nodes = [](std::map<unsigned, double> rates) {
    std::vector<Measurement> all;
    for (const auto& [clients, rate] : rates) {
      Measurement& m = all.emplace_back();
      m.clients = clients;
      m.mean = m.low = m.high = rate;
    }
    return Curve(std::move(all), false, true);
  };
  EXPECT_EQ(of_nodes({{1, 10}, {4, 40}}).reach(16), 4);  // disks of their own
  EXPECT_EQ(of_nodes({{1, 10}, {4, 11}}).reach(16), 4);
}

TEST(SizingCurve, NeighbouringCountsDoNotHideThatItStoppedGrowing) {
  // From 7 to 8 the noise adds 1.5 %, as much as a client that still got a tenth.
  EXPECT_TRUE(curve({{1, 8}, {4, 9.9}, {7, 10}, {8, 10.15}}).saturated());
  // Nor do they make it stop: here it grows all the way, and noise took back the last step.
  EXPECT_FALSE(curve({{1, 10}, {4, 40}, {7, 70}, {8, 70}}).saturated());
}

}  // namespace
}  // namespace headrace::sizing::sizing_curve_test
