// Series over time: change points with their false alarms and power by simulation, levels, events,
// unusual newest runs.
#include "harness/history/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/statistics/change_points.h"
#include "harness/statistics/draws.h"

namespace headrace::history {
namespace {

using results::StoredRun;
using statistics::change_points;
using statistics::Draws;

double normal(Draws& draws) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += draws.share();
  return sum;
}

/// Values around 1 with 2 % from run to run; from `at` on `factor` times as much.
std::vector<double> series(std::size_t count, std::uint64_t seed, std::size_t at = 1000,
                           double factor = 1) {
  Draws draws(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back((1 + 0.02 * normal(draws)) * (i >= at ? factor : 1));
  return values;
}

TEST(ChangePoints, AStepIsFoundWhereItIs) {
  const auto found = change_points(series(30, 7, 18, 0.85), 0.05);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].at, 18u);
  EXPECT_LT(found[0].p, 0.001);
  const auto twice = [] {
    auto values = series(60, 8, 20, 0.85);
    for (std::size_t i = 40; i < 60; ++i) values[i] *= 1.3;
    return values;
  }();
  const auto both = change_points(twice, 0.05);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].at, 20u);
  EXPECT_EQ(both[1].at, 40u);
}

TEST(ChangePoints, SmallOrShortIsNone) {
  EXPECT_TRUE(change_points(series(40, 9, 20, 0.97), 0.05).empty());  // real, but inside delta
  EXPECT_TRUE(change_points(series(9, 9, 5, 0.5), 0.05).empty());
  EXPECT_TRUE(change_points(std::vector<double>(20, 1.0), 0.05).empty());
  EXPECT_TRUE(change_points(std::vector<double>{1, 2, 0, 1, 2, 1, 2, 1, 2, 1, 2}, 0.05).empty());
  auto glitch = series(30, 10);
  glitch[12] = 0.5;  // one odd run is no level
  EXPECT_TRUE(change_points(glitch, 0.05).empty());
}

TEST(ChangePointSimulation, FalseAlarmsStayBelowOneInFifty) {
  int alarms = 0;
  const int trials = 200;
  for (int i = 0; i < trials; ++i)
    alarms += !change_points(series(30, 100 + static_cast<std::uint64_t>(i)), 0.05).empty();
  EXPECT_LE(alarms, trials / 50);
}

TEST(ChangePointSimulation, AChangeOfEightPercentIsFound) {
  int found = 0;
  const int trials = 100;
  for (int i = 0; i < trials; ++i) {
    const auto cuts =
        change_points(series(30, 500 + static_cast<std::uint64_t>(i), 15, 0.92), 0.05);
    found += cuts.size() == 1 && cuts[0].at >= 13 && cuts[0].at <= 17;
  }
  EXPECT_GE(found, 90);
}

TEST(ChangePointSimulation, SameSeriesSameAnswer) {
  const auto values = series(50, 3, 30, 0.9);
  const auto a = change_points(values, 0.05), b = change_points(values, 0.05);
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(a[0].at, b[0].at);
}

StoredRun run_of(int number, double value, const std::string& firmware = "1.3",
                 const std::string& hash = "c") {
  StoredRun run;
  run.id = fmt::format("r{:03}", number);
  run.path = run.id + "/run.json";
  run.node = "node17";
  run.started_utc = fmt::format("2026-03-{:02}T12:00:00Z", number + 1);
  run.config_hash = hash;
  run.environment = {{"device.firmware", firmware}};
  results::StoredPoint p;
  p.id = p.workload = "shard_stream";
  results::StoredMetric m;
  m.name = "read_bandwidth";
  m.unit = "B/s";
  m.values = {value};
  m.median = m.low = m.high = value;
  p.metrics.push_back(m);
  run.points.push_back(p);
  return run;
}

std::vector<StoredRun> runs_of(const std::vector<double>& values, std::size_t firmware_at = 1000) {
  std::vector<StoredRun> runs;
  for (std::size_t i = 0; i < values.size(); ++i)
    runs.push_back(run_of(static_cast<int>(i), 1e9 * values[i], i >= firmware_at ? "1.4" : "1.3"));
  return runs;
}

TEST(History, AChangeIsToldWithWhatChangedThen) {
  auto runs = runs_of(series(24, 4, 14, 0.88), 14);
  std::swap(runs[3], runs[20]);  // the order of files says nothing
  const History h = judge(runs, {});
  ASSERT_EQ(h.series.size(), 1u);
  const Series& s = h.series[0];
  ASSERT_EQ(s.changes.size(), 1u);
  EXPECT_EQ(s.changes[0].at, 14u);
  EXPECT_EQ(s.changes[0].direction, Direction::worse);
  EXPECT_NEAR(s.changes[0].change(), -0.12, 0.03);
  ASSERT_EQ(s.changes[0].events.size(), 1u);
  EXPECT_EQ(s.changes[0].events[0], "device.firmware 1.3 -> 1.4");
  ASSERT_EQ(s.levels.size(), 2u);
  EXPECT_EQ(s.levels[1].from, 14u);
  EXPECT_EQ(h.word, "FAIL");
  EXPECT_EQ(h.exit_code, 10);
  EXPECT_NE(h.sentence.find("device.firmware 1.3 -> 1.4"), std::string::npos) << h.sentence;
  EXPECT_EQ(judge(runs_of(series(24, 4, 14, 1.15)), {}).exit_code, 0);  // for the better
}

TEST(History, TheNewestRunAloneIsUnusualNotChanged) {
  auto values = series(25, 6);
  values.back() = 0.8;
  const History h = judge(runs_of(values), {});
  EXPECT_TRUE(h.series[0].changes.empty());
  EXPECT_TRUE(h.series[0].newest.unusual);
  EXPECT_LT(h.series[0].newest.z, -4);
  EXPECT_EQ(h.word, "INCONCLUSIVE");
  EXPECT_FALSE(judge(runs_of(series(25, 6)), {}).series[0].newest.unusual);
}

TEST(History, OtherConfigurationsAreOtherSeries) {
  std::vector<StoredRun> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(run_of(i, 1e9));
  for (int i = 12; i < 20; ++i) runs.push_back(run_of(i, 5e8, "1.3", "d"));
  const History h = judge(runs, {});
  ASSERT_EQ(h.series.size(), 2u);
  EXPECT_EQ(h.too_short, 1u);
  EXPECT_EQ(h.changes, 0u);
  EXPECT_EQ(h.word, "PASS");
  EXPECT_EQ(judge({run_of(1, 1e9)}, {}).word, "INCOMPLETE");
}

TEST(History, FilesHoldAllOfIt) {
  const History h = judge(runs_of(series(24, 4, 14, 0.88), 14), {});
  const auto json = nlohmann::json::parse(history_json(h));
  EXPECT_EQ(json["kind"], "headrace.history");
  EXPECT_EQ(json["series"][0]["changes"][0]["status"], "worse");
  EXPECT_EQ(json["series"][0]["median"].size(), 24u);
  const std::string csv = history_csv(h);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 25);
  EXPECT_NE(csv.find(",worse\r\n"), std::string::npos);
}

}  // namespace
}  // namespace headrace::history
