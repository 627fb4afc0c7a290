// A system against itself: floors, files, and which file later comparisons find.
#include "harness/analysis/comparison/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "harness/analysis/comparison/comparison.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::comparison::noise_test {
namespace {

namespace fs = std::filesystem;

/// One metric of one point; side B of block i is `ratios[i]` times as fast.
Comparison against_itself(const std::vector<double>& ratios, const Options& options = {}) {
  const auto side = [&](const std::string& label, bool other) {
    Side s{label, label, {}, {}};
    for (unsigned i = 0; i < ratios.size(); ++i) {
      results::StoredRun run;
      run.id = label + std::to_string(i);
      run.started_utc = "2026-01-31T12:00:00Z";
      run.node = "node17";
      run.environment = {{"kernel.release", "6.1.0"}};
      results::StoredPoint point;
      point.id = point.workload = "shard_stream";
      point.params = {{"workers", "4"}};
      results::StoredMetric metric;
      metric.name = "read_bandwidth";
      metric.unit = "B/s";
      metric.values = {1e8 * (other ? ratios[i] : 1)};
      metric.median = metric.values.front();
      point.metrics = {metric};
      run.points = {point};
      s.runs.push_back(run);
      s.blocks.push_back(i + 1);
    }
    return s;
  };
  return compare({side("A", false), side("B", true)}, options);
}

const std::vector<double> kEven = {1.01, 0.99, 1.005, 0.995, 1.0, 1.0};

TEST(Noise, FloorIsHalfTheWidthOfSixBlocks) {
  const Noise noise = noise_of(against_itself(kEven));
  ASSERT_EQ(noise.rows.size(), 1u);
  const NoiseRow& row = noise.rows.front();
  const auto& bounds = *row.estimate;
  EXPECT_NEAR(std::log1p(row.noise_floor), std::log(bounds.high / bounds.low) / 2, 1e-9);
  EXPECT_NEAR(row.block_spread, 0.00707, 2e-4);
  EXPECT_EQ(row.false_alarm_rate, 0);  // no such block reaches 5 %
  EXPECT_EQ(noise.word, Outcome::pass);
  EXPECT_EQ(noise.changed(), 0u);
}

TEST(Noise, AMissingEstimateHasNoRatioInItsFile) {
  Noise noise = noise_of(against_itself(kEven));
  EXPECT_NE(noise_json(noise).find("\"ratio\""), std::string::npos);
  noise.rows.front().estimate.reset();
  EXPECT_EQ(noise_json(noise).find("\"ratio\""), std::string::npos);
}

TEST(Noise, ASystemThatDiffersFromItselfFails) {
  const Noise noise = noise_of(against_itself({0.80, 0.81, 0.79, 0.80, 0.81, 0.80}));
  EXPECT_EQ(noise.word, Outcome::fail);
  EXPECT_EQ(noise.exit_code, 10);
  EXPECT_EQ(noise.changed(), 1u);
}

TEST(Noise, IsReadBackAndFoundNextToRunsOfTheSameMachine) {
  const headrace::testing::TemporaryFolder folder;
  const auto put = [&](const std::string& name, const std::string& when, const std::string& kernel) {
    Noise noise = noise_of(against_itself(kEven));
    noise.system.started_utc = when;
    noise.system.environment["kernel.release"] = kernel;
    fs::create_directory(folder.path() + "/" + name);
    std::ofstream(folder.path() + "/" + name + "/aa.json") << noise_json(noise);
  };
  put("old", "2026-01-01T00:00:00Z", "6.1.0");
  put("new", "2026-02-01T00:00:00Z", "6.1.0");
  put("other", "2026-03-01T00:00:00Z", "9.9.9");
  fs::create_directory(folder.path() + "/broken");
  std::ofstream(folder.path() + "/broken/aa.json") << "{";
  const Comparison base = against_itself(kEven);
  const auto found = newest_noise(folder.path() + "/some-run", base.sides[0].first());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(fs::path(found->source).parent_path().filename(), "new");
  EXPECT_EQ(found->rows.front().blocks.size(), 6u);
  EXPECT_EQ(found->rows.front().point.params.at("workers"), "4");
  EXPECT_DOUBLE_EQ(found->summary().median, noise_of(base).summary().median);
  EXPECT_FALSE(newest_noise("/nowhere/at/all", base.sides[0].first()).has_value());
}

TEST(Noise, RefusesMisfitsWithTheirPlace) {
  const headrace::testing::TemporaryFolder folder;
  const std::string good = noise_json(noise_of(against_itself(kEven)));
  const auto describe = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    if (at == std::string::npos) return "nothing to edit in " + text;
    text.replace(at, from.size(), to);
    std::ofstream(folder.path() + "/aa.json") << text;
    try {
      read_noise(folder.path());
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(describe("\"false_alarm_rate\": 0.0,\n   \"blocks\"", "\"false_alarm_rate\": 1.5,\n   \"blocks\"")
                .find("rows[0].false_alarm_rate: above 1"),
            std::string::npos);
  EXPECT_NE(describe("\"status\": \"", "\"status\": \"x").find("rows[0].status"), std::string::npos);
  EXPECT_NE(describe("\"workload\": ", "\"w\": ").find("rows[0].workload: missing"), std::string::npos);
  EXPECT_NE(describe("headrace.aa", "headrace.bb").find("not a aa file"), std::string::npos);
}

TEST(Noise, AChangeWithinItIsNotCalledOne) {
  const std::vector<double> slower = {0.92, 0.921, 0.919, 0.92, 0.921, 0.92};
  EXPECT_EQ(against_itself(slower).pairs[0].rows[0].change, statistics::Change::worse);
  Options options;
  options.noise = noise_of(against_itself(kEven));
  options.noise->rows[0].noise_floor = 0.03;
  const Comparison seen = against_itself(slower, options);
  EXPECT_EQ(seen.pairs[0].rows[0].change, statistics::Change::worse);
  EXPECT_DOUBLE_EQ(*seen.pairs[0].rows[0].noise_floor, 0.03);
  options.noise->rows[0].noise_floor = 0.12;
  const Comparison within = against_itself(slower, options);
  EXPECT_EQ(within.pairs[0].rows[0].change, statistics::Change::inconclusive);
  EXPECT_EQ(within.exit_code, 11);
  EXPECT_NE(within.pairs[0].rows[0].explanation.find("shows against itself"), std::string::npos);
}

}  // namespace
}  // namespace headrace::comparison::noise_test
