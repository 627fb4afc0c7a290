// What joins values of several runs, and what leaves them out.
#include "harness/results/metric_key.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/results/repetition_json.h"

namespace headrace::results::metric_key_test {
namespace {

TEST(MetricKeys, UnitsOfOneKindShareABase) {
  EXPECT_EQ(unit_scale("GB/s").base, "B/s");
  EXPECT_EQ(unit_scale("GB/s").factor, 1e9);
  EXPECT_EQ(unit_scale("B/s").factor, 1);
  EXPECT_EQ(unit_scale("1/s").base, "1/s");
  EXPECT_EQ(unit_scale("ms").factor, 1e-3);
  EXPECT_EQ(unit_scale("").base, "");
  EXPECT_EQ(unit_scale("apples").base, "apples");
  EXPECT_EQ(unit_ratio("GB/s", "MB/s"), 1e3);
  EXPECT_EQ(unit_ratio("apples", "apples"), 1);
}

TEST(MetricKeys, ParametersAndUnitsPart) {
  StoredPoint point;
  point.workload = "w";
  StoredMetric metric;
  metric.name = "m";
  metric.unit = "B/s";
  const MetricKey key = metric_key(point, metric);
  metric.unit = "GB/s";
  EXPECT_TRUE(metric_key(point, metric) == key);
  metric.unit = "s";
  EXPECT_TRUE(metric_key(point, metric) != key);
  metric.unit = "B/s";
  point.params["workers"] = "4";
  EXPECT_TRUE(metric_key(point, metric) != key);
  EXPECT_TRUE(point_key(point, std::vector<std::string>{"workers"}) == key.point);
}

TEST(PairsJson, RoundTripsKeys) {
  PairMatrix m({"a", "b"}, {"eth0", "eth1"});
  m.rate[0][1] = 1e9;
  const auto json = nlohmann::json::parse(pairs_part(m, blame(m)).dump());
  const PairMatrix read = read_pairs(JsonPlace(json));
  EXPECT_EQ(read.names, m.names);
  EXPECT_EQ(read.rate, m.rate);
  EXPECT_EQ(read.rails, m.rails);
}

TEST(PairsJson, RefusesContradictions) {
  const auto refused = [](const char* text) {
    const auto json = nlohmann::json::parse(text);
    EXPECT_THROW(read_pairs(JsonPlace(json)), UsageError) << text;
  };
  refused(R"({"names": ["a", "b"], "rate": [[-1, 1]]})");
  refused(R"({"names": ["a", "b"], "rate": [[-1, 1], [1]]})");
  refused(R"({"names": ["a"], "rate": [[-1]], "rails": ["x", "y"]})");
  refused(R"({"names": ["a"], "rate": [[-1]], "rails": ["eth0"]})");  // no end of that rail
  refused(R"([{"metric": "bandwidth"}])");
}

TEST(MetricKeys, NamesMatterWhereColdFilesAreOpened) {
  const auto point = [](const char* cache, const char* metric, const char* warm) {
    StoredPoint p;
    p.workload = "small_file_read";
    p.cache = cache;
    p.metrics.resize(1);
    p.metrics[0].name = metric;
    p.each.resize(2);
    p.each[1].warm_names = warm;
    return p;
  };
  EXPECT_EQ(names_are_cold(point("cold", "open_rate", "")), true);
  EXPECT_EQ(names_are_cold(point("cold", "open_rate", "only root can drop them")), false);
  EXPECT_EQ(names_are_cold(point("warm", "open_rate", "")), std::nullopt);
  EXPECT_EQ(names_are_cold(point("cold", "read_bandwidth", "only root can drop them")), std::nullopt);
  StoredPoint retaken = point("cold", "open_rate", "only root can drop them");
  retaken.each[1].counted = false;
  EXPECT_EQ(names_are_cold(retaken), true);
  retaken.each.clear();
  EXPECT_EQ(names_are_cold(retaken), std::nullopt) << "nobody knows";
}

}  // namespace
}  // namespace headrace::results::metric_key_test
