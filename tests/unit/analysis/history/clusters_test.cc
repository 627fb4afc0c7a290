// Whose runs of several hosts are: of their cluster, whoever has rank 0.
#include "harness/analysis/history/clusters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "harness/results/pair_metrics.h"

namespace headrace::clusters_test {
namespace {

using results::StoredRun;

StoredRun run_of(int day, const std::string& node, const std::string& hosts) {
  StoredRun run;
  run.node = node;
  run.started_utc = "2026-03-0" + std::to_string(day) + "T12:00:00Z";
  if (!hosts.empty()) run.environment["launch.hosts"] = hosts;
  return run;
}

std::vector<std::string> named(std::vector<StoredRun> runs) {
  history::name_clusters(runs);
  std::vector<std::string> names;
  for (const StoredRun& run : runs) names.push_back(run.node);
  return names;
}

TEST(Clusters, AreReportedByTheirHosts) {
  EXPECT_EQ(named({run_of(1, "n1", "n1 n2 n3 n4"), run_of(2, "n2", "n1 n2 n3 n4"), run_of(3, "n1", ""),
                   run_of(4, "n1", "n1")}),
            (std::vector<std::string>{"n[1-4]", "n[1-4]", "n1", "n1"}));
  // A host is exchanged, and one more joins: still more than half are the same as the time before.
  EXPECT_EQ(named({run_of(3, "n1", "n1 n2 n5 n6"), run_of(2, "n1", "n1 n2 n3 n5"), run_of(1, "n1", "n1 n2 n3 n4")}),
            (std::vector<std::string>{"n[1-6]", "n[1-6]", "n[1-6]"}));
  EXPECT_EQ(named({run_of(1, "n1", "n1 n2 n3 n4"), run_of(2, "n1", "n1 n2")}),  // half is not more than half
            (std::vector<std::string>{"n[1-4]", "n[1-2]"}));
}

std::map<std::string, double> medians(const PairMatrix& matrix) {
  StoredRun run;
  run.points.emplace_back().pairs = matrix;
  results::add_pair_metrics(run);
  std::map<std::string, double> all;
  for (const auto& metric : run.points[0].metrics) all[metric.name] = metric.median;
  return all;
}

TEST(PairMetrics, AreSharesOfTheRateOfSoundNodes) {
  PairMatrix matrix({"a", "b", "c", "d"});
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t k = 0; k < 4; ++k)
      if (i != k) matrix.rate[i][k] = 2e9;
  matrix.rate[0][2] = 0.5e9;  // one way is enough
  matrix.rate[1][3] = matrix.rate[3][1] = -1;
  const auto reported = medians(matrix);
  EXPECT_EQ(reported.at("rate of a and c"), 0.25);
  EXPECT_EQ(reported.at("rate of a"), 1);
  EXPECT_FALSE(reported.contains("rate of b and d"));  // they did not meet
  EXPECT_EQ(reported.size(), 9u);
  for (const auto& [name, unused] : reported) EXPECT_TRUE(results::is_pair_metric(name)) << name;
  EXPECT_FALSE(results::is_pair_metric("bandwidth"));
  EXPECT_TRUE(medians(PairMatrix({"a", "b"})).empty());
}

TEST(PairMetrics, TheSlowestPairRepresentsEachNode) {
  std::vector<std::string> names;
  for (int i = 0; i < 65; ++i) names.push_back("n" + std::to_string(i));
  PairMatrix matrix(names);
  for (auto& row : matrix.rate) std::fill(row.begin(), row.end(), 1e9);
  matrix.rate[3][7] = 0.3e9;
  const auto reported = medians(matrix);
  EXPECT_EQ(reported.size(), 130u);
  EXPECT_DOUBLE_EQ(reported.at("slowest pair of n3"), 0.3);
  EXPECT_DOUBLE_EQ(reported.at("slowest pair of n7"), 0.3);
  EXPECT_EQ(reported.at("slowest pair of n8"), 1);
}

}  // namespace
}  // namespace headrace::clusters_test
