#include "harness/engine/explain/scaling.h"

#include <gtest/gtest.h>

namespace headrace::scaling_test {
namespace {

ScalingCurve judged(std::vector<std::pair<unsigned, double>> rates) {
  ScalingCurve curve;
  curve.workload = "random_read";
  curve.metric = "read_bandwidth";
  curve.unit = "B/s";
  for (const auto& [clients, rate] : rates) {
    ScalingCurve::At at;
    at.clients = clients;
    at.rate = rate;
    curve.at.push_back(at);
  }
  judge_scaling(curve);
  return curve;
}

TEST(Scaling, ABackendThatIsSaturatedHasItsClients) {
  const ScalingCurve curve = judged({{1, 1e9}, {2, 2e9}, {4, 2.9e9}, {8, 3e9}});
  EXPECT_TRUE(curve.saturated);
  EXPECT_DOUBLE_EQ(curve.most, 3e9);
  EXPECT_DOUBLE_EQ(curve.saturation_clients, 3);  // G7: ceil(3 / 1)
  EXPECT_EQ(curve.reached_by, 4u);
  EXPECT_EQ(curve.substituted, "ceil(3.00 GB/s / 1.00 GB/s)");
  EXPECT_DOUBLE_EQ(curve.at[1].expected, 2e9);  // G6
  EXPECT_DOUBLE_EQ(curve.at[3].expected, 3e9);
  EXPECT_DOUBLE_EQ(curve.at[0].efficiency, 1);
  EXPECT_DOUBLE_EQ(curve.at[3].efficiency, 0.375);
  EXPECT_NE(curve.finding.find("is saturated at 3.00 GB/s, reached by 4 clients"), std::string::npos) << curve.finding;
}

TEST(Scaling, GrowthHidesItsBackend) {
  const ScalingCurve curve = judged({{1, 1e9}, {2, 1.9e9}, {4, 3.6e9}});
  EXPECT_FALSE(curve.saturated);
  EXPECT_DOUBLE_EQ(curve.saturation_clients, 0);
  EXPECT_EQ(curve.reached_by, 0u);
  EXPECT_DOUBLE_EQ(curve.at[2].expected, 4e9);
  EXPECT_DOUBLE_EQ(curve.at[2].efficiency, 0.9);
  EXPECT_NE(curve.finding.find("still grows at 4 clients"), std::string::npos) << curve.finding;
}

TEST(Scaling, ManyInterferingClientsAreSaturatedToo) {
  const ScalingCurve curve = judged({{2, 4e9}, {4, 5e9}, {8, 3e9}});
  EXPECT_TRUE(curve.saturated);
  EXPECT_DOUBLE_EQ(curve.per_client, 2e9);
  EXPECT_DOUBLE_EQ(curve.most, 5e9);
  EXPECT_EQ(curve.reached_by, 4u);
}

TEST(Scaling, OperationsAreReportedAsOperations) {
  ScalingCurve curve = judged({{1, 1000}, {2, 1010}});
  curve.metric = "read_iops";
  curve.unit = "1/s";
  judge_scaling(curve);
  EXPECT_EQ(curve.substituted.find("GB"), std::string::npos) << curve.substituted;
  EXPECT_NE(curve.finding.find("/s"), std::string::npos);
}

TEST(Scaling, ATenthMoreInAllIsNoGrowth) {
  EXPECT_TRUE(stopped_growing(2, 100, 4, 110));
  EXPECT_FALSE(stopped_growing(2, 100, 4, 111));
  EXPECT_TRUE(stopped_growing(2, 100, 4, 80));
}

}  // namespace
}  // namespace headrace::scaling_test
