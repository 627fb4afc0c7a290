// Series over time: change points with their false alarms and power by simulation, levels, events,
// unusual newest runs.
#include "harness/analysis/history/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/judge/statistics/change_points.h"
#include "harness/judge/statistics/draws.h"

namespace headrace::history::history_test {
namespace {

using results::StoredMetric;
using results::StoredRun;
using statistics::change_points;
using statistics::Draws;

double normal(Draws& draws) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += draws.share();
  return sum;
}

/// Values around 1 with 2 % from run to run; from `at` on `factor` times as much.
std::vector<double> series(std::size_t count, std::uint64_t seed, std::size_t at = 1000, double factor = 1) {
  Draws draws(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back((1 + 0.02 * normal(draws)) * (i >= at ? factor : 1));
  return values;
}

TEST(ChangePoints, AStepIsFoundWhereItIs) {
  const auto found = change_points(series(30, 7, 18, 0.85), 0.05);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].at, 18u);
  EXPECT_LE(found[0].p, 0.005);
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
  EXPECT_TRUE(change_points(std::vector<double>(20, 0.0), 0.05).empty());
  auto glitch = series(30, 10);
  glitch[12] = 0.5;  // one odd run is no level
  EXPECT_TRUE(change_points(glitch, 0.05).empty());
}

/// In how many of a hundred series of `count` runs anything is found; `certain`: that may fail.
struct Found {
  int any = 0, certain = 0;
};
template <class Make>
Found found_in(int trials, Make make) {
  Found found;
  for (int i = 0; i < trials; ++i) {
    const std::vector<double> values = make(static_cast<std::uint64_t>(100 + i));
    const auto cuts = change_points(values, 0.05);
    found.any += !cuts.empty();
    found.certain += !cuts.empty() && !statistics::wanders(values, cuts) && cuts.back().p <= statistics::kChangeLimit;
  }
  found.any = found.any * 100 / trials;
  found.certain = found.certain * 100 / trials;
  return found;
}

/// Noise of `cv` whose neighbours correlate by `phi`.
std::vector<double> alike(std::size_t count, std::uint64_t seed, double cv, double phi) {
  Draws draws(seed);
  std::vector<double> values;
  double now = normal(draws);
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(1 + cv * now);
    now = phi * now + std::sqrt(1 - phi * phi) * normal(draws);
  }
  return values;
}

TEST(ChangePointSimulation, FalseAlarmsOfIndependentRuns) {
  for (const std::size_t count : {14u, 30u}) {
    EXPECT_LE(found_in(200, [&](std::uint64_t seed) { return series(count, seed); }).any, 1);
    EXPECT_LE(found_in(100, [&](std::uint64_t seed) { return alike(count, seed, 0.05, 0); }).any, 5);
  }
}

TEST(ChangePointSimulation, AStepOfEightPercentIsFoundAtFourteenRuns) {
  const Found middle = found_in(100, [](std::uint64_t seed) { return series(14, seed, 7, 0.92); });
  EXPECT_GE(middle.any, 90);
  EXPECT_GE(middle.certain, 80);
  EXPECT_GE(found_in(100, [](std::uint64_t seed) { return series(14, seed, 10, 0.92); }).any, 80);
}

TEST(ChangePointSimulation, RunsThatWanderAreSeldomCalledChanged) {
  const Found thirty = found_in(100, [](std::uint64_t seed) { return alike(30, seed, 0.04, 0.8); });
  EXPECT_GE(thirty.any, 20);     // what permutations take for levels
  EXPECT_LE(thirty.certain, 5);  // for the worse or for the better
  EXPECT_LE(found_in(100, [](std::uint64_t seed) { return alike(14, seed, 0.04, 0.8); }).certain, 5);
  EXPECT_EQ(found_in(60, [](std::uint64_t seed) { return alike(30, seed, 0.02, 0.8); }).certain, 0);
}

TEST(ChangePoints, CorrelationIsThatWithinTheLevels) {
  const std::vector<double> steps{1, 1, 1, 1, 1, 2, 2, 2, 2, 2};
  EXPECT_EQ(statistics::correlation_within(steps, {{5, 0.001}}), 0);
  EXPECT_GT(statistics::correlation_within(steps, {}), 0.5);
  EXPECT_NEAR(statistics::correlation_within(std::vector<double>{-1, 1, -1, 1}, {}), -0.75, 1e-9);
}

TEST(ChangePoints, ConstantLevelsHaveNoCorrelation) {
  for (const auto& [before, after] :
       {std::pair{64.0, 32.0}, {1e9, 0.7e9}, {1.015e6, 1.523e6}, {1e9, 1e8}, {1e-9, 3e-9}}) {
    std::vector<double> values(15, before);
    values.insert(values.end(), 15, after);
    const auto cuts = change_points(values, 0.05);
    ASSERT_EQ(cuts.size(), 1u) << before;
    EXPECT_EQ(statistics::correlation_within(values, cuts), 0) << before;
    EXPECT_FALSE(statistics::wanders(values, cuts)) << before;
  }
}

TEST(ChangePoints, DriftsExplainSlopesAndLevelsExplainSteps) {
  std::vector<double> slope;
  for (int i = 0; i < 30; ++i) slope.push_back(std::exp(-0.01 * i));
  EXPECT_TRUE(statistics::wanders(slope, change_points(slope, 0.05)));
  const std::vector<double> step = series(30, 7, 15, 0.9);
  EXPECT_FALSE(statistics::wanders(step, change_points(step, 0.05)));
}

/// Levels of these lengths, every second one `factor` times the first; 2 % from run to run.
std::vector<double> levels(const std::vector<std::size_t>& lengths, double factor, std::uint64_t seed) {
  std::size_t count = 0;
  for (const std::size_t length : lengths) count += length;
  std::vector<double> values = series(count, seed);
  for (std::size_t level = 0, at = 0; level < lengths.size(); at += lengths[level++])
    for (std::size_t i = at; level % 2 == 1 && i < at + lengths[level]; ++i) values[i] *= factor;
  return values;
}

TEST(ChangePointSimulation, LevelsThatComeAndGoAreFound) {
  struct Row {
    std::vector<std::size_t> lengths;
    double factor;
    int found, certain;  // at least
  };
  for (const Row& row : {Row{{12, 8, 10}, 0.8, 60, 60},
                         {{12, 8, 10}, 0.9, 58, 58},
                         {{12, 4, 14}, 0.8, 60, 60},
                         {{10, 8, 8, 6}, 0.8, 60, 60},
                         {{5, 5, 5, 5, 5, 5}, 0.8, 60, 60}}) {
    int found = 0, certain = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const auto values = levels(row.lengths, row.factor, 100 + seed);
      const auto cuts = change_points(values, 0.05);
      found += cuts.size() == row.lengths.size() - 1;
      certain += !cuts.empty() && !statistics::wanders(values, cuts) && cuts.back().p <= statistics::kChangeLimit;
    }
    EXPECT_GE(found, row.found) << row.lengths.size() << " levels, " << row.factor;
    EXPECT_GE(certain, row.certain) << row.lengths.size() << " levels, " << row.factor;
  }
}

TEST(ChangePointSimulation, ThreeRunsEachComeAndGo) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto cuts = change_points(levels(std::vector<std::size_t>(10, 3), 0.8, 100 + seed), 0.05);
    ASSERT_EQ(cuts.size(), 9u);
    EXPECT_TRUE(cuts.back().alternates);
    EXPECT_GT(cuts.back().p, statistics::kChangeLimit);  // one order of sixty is no surprise
  }
}

TEST(ChangePointSimulation, ACleanStepIsNoDrift) {
  for (const std::size_t half : {15u, 30u}) {
    const Found step = found_in(100, [&](std::uint64_t seed) { return series(2 * half, seed, half, 0.7); });
    EXPECT_EQ(step.certain, 100) << half;
  }
  EXPECT_GE(found_in(100, [](std::uint64_t seed) { return series(60, seed, 30, 0.92); }).certain, 98);
}

TEST(ChangePoints, LevelsMayBeZero) {
  std::vector<double> errors(20, 0.0);
  for (std::size_t i = 10; i < 20; ++i) errors[i] = 4 + static_cast<double>(i % 2);
  const auto cuts = change_points(errors, 0.05);
  ASSERT_EQ(cuts.size(), 1u);
  EXPECT_EQ(cuts[0].at, 10u);
}

TEST(ChangePoints, DeltaIsWhereAStepBegins) {
  const auto step = [](double factor) {
    std::vector<double> values(20, 1.0);
    for (std::size_t i = 10; i < 20; ++i) values[i] = factor;
    return change_points(values, 0.05).size();
  };
  EXPECT_EQ(step(1.049), 0u);
  EXPECT_EQ(step(1.051), 1u);
  EXPECT_EQ(step(1 / 1.049), 0u);
  EXPECT_EQ(step(1 / 1.051), 1u);
}

TEST(ChangePoints, TenRunsAreTheFewestAndALevelHasThree) {
  const auto cut_of = [](std::size_t count, std::size_t at) {
    std::vector<double> values(count, 1.0);
    for (std::size_t i = at; i < count; ++i) values[i] = 2.0;
    return change_points(values, 0.05).size();
  };
  EXPECT_EQ(cut_of(9, 5), 0u);
  EXPECT_EQ(cut_of(10, 5), 1u);  // not rare enough to be certain, but at two levels
  EXPECT_EQ(cut_of(11, 5), 1u);
  EXPECT_EQ(cut_of(40, 37), 1u);
  EXPECT_EQ(cut_of(40, 38), 0u);
}

TEST(ChangePointSimulation, AChangeOfEightPercentIsFound) {
  int found = 0;
  const int trials = 100;
  for (int i = 0; i < trials; ++i) {
    const auto cuts = change_points(series(30, 500 + static_cast<std::uint64_t>(i), 15, 0.92), 0.05);
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

StoredRun run_of(int number, double value, const std::string& firmware = "1.3", const std::string& hash = "c") {
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

TEST(History, AChangeIsReportedWithChangedSettings) {
  auto runs = runs_of(series(24, 4, 14, 0.88), 14);
  std::swap(runs[3], runs[20]);  // the order of files says nothing
  const History h = judge(runs, {});
  ASSERT_EQ(h.series.size(), 1u);
  const Series& s = h.series[0];
  ASSERT_EQ(s.changes.size(), 1u);
  EXPECT_EQ(s.changes[0].at, 14u);
  EXPECT_EQ(s.changes[0].direction, Direction::worse);
  EXPECT_NEAR(s.changes[0].change().value(), -0.12, 0.03);
  ASSERT_EQ(s.changes[0].events.size(), 1u);
  EXPECT_EQ(s.changes[0].events[0], "device.firmware 1.3 -> 1.4");
  ASSERT_EQ(s.levels.size(), 2u);
  EXPECT_EQ(s.levels[1].from, 14u);
  EXPECT_EQ(h.word, Outcome::fail);
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
  EXPECT_EQ(h.word, Outcome::inconclusive);
  const History usual = judge(runs_of(series(25, 6)), {});
  EXPECT_FALSE(usual.series[0].newest.unusual);
  EXPECT_EQ(usual.sentence, "25 runs, 1 series: no changes.");
}

TEST(History, OtherConfigurationsAreOtherSeries) {
  std::vector<StoredRun> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(run_of(i, 1e9));
  for (int i = 12; i < 20; ++i) runs.push_back(run_of(i, 5e8, "1.3", "d"));
  const History h = judge(runs, {});
  ASSERT_EQ(h.series.size(), 2u);
  EXPECT_EQ(h.too_short, 1u);
  EXPECT_EQ(h.changes, 0u);
  EXPECT_EQ(h.word,
            Outcome::incomplete);  // of the configuration that is measured now, too little is known
  EXPECT_EQ(h.exit_code, 12);
  EXPECT_EQ(h.sentence, "20 runs, 2 series: no changes, 1 too short to judge.");
  const History single = judge({run_of(1, 1e9)}, {});
  EXPECT_EQ(single.word, Outcome::incomplete);
  EXPECT_EQ(single.sentence, "1 run; 1 series, too short to judge.");
}

TEST(History, AShortPastConfigurationIsNoReason) {
  std::vector<StoredRun> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(run_of(i, 1e9, "1.3", "c"));
  for (int i = 5; i < 20; ++i) runs.push_back(run_of(i, 1e9, "1.3", "d"));
  const History replaced = judge(runs, {});
  EXPECT_EQ(replaced.too_short, 1u);
  EXPECT_EQ(replaced.word, Outcome::pass);
  for (int i = 0; i < 5; ++i) runs[static_cast<std::size_t>(i)].config_file = "other.yaml";
  EXPECT_EQ(judge(runs, {}).word, Outcome::incomplete);  // still measured, as far as anybody knows
}

TEST(History, AZeroHidesNoChangeAndIsReported) {
  auto values = series(24, 4, 14, 0.8);
  values[5] = 0;
  const History h = judge(runs_of(values), {});
  EXPECT_EQ(h.word, Outcome::fail);
  const Series& s = h.series.at(0);
  EXPECT_EQ(s.changes.size(), 1u);
  ASSERT_EQ(s.left_out.size(), 1u);
  EXPECT_EQ(s.left_out[0].why, "zero");
  EXPECT_EQ(s.left_out[0].run, 5u);
  EXPECT_EQ(s.value.size(), 23u);
  history_json(h);
}

TEST(History, TheNewestRunsGivingZeroIsAFinding) {
  for (const auto& [zeros, word] :
       {std::pair{1u, Outcome::inconclusive}, {2u, Outcome::inconclusive}, {3u, Outcome::fail}, {12u, Outcome::fail}}) {
    auto values = series(26, 6);
    for (std::size_t i = 0; i < zeros; ++i) values[values.size() - 1 - i] = 0;
    const History h = judge(runs_of(values), {});
    EXPECT_EQ(h.word, word) << zeros;
    EXPECT_EQ(h.series[0].newest.left_out_for, "zero");
  }
  std::vector<StoredRun> errors = runs_of(std::vector<double>(20, 0.0));
  for (StoredRun& run : errors) run.points[0].metrics[0].better = Better::lower;
  EXPECT_EQ(judge(errors, {}).word, Outcome::pass);  // no errors, as ever
  errors.back().points[0].metrics[0].median = 3;
  const History h = judge(errors, {});
  EXPECT_TRUE(h.series[0].newest.unusual);
  EXPECT_EQ(h.word, Outcome::inconclusive);
  history_json(h);
}

TEST(History, AMetricThatIsMissingIsAFinding) {
  for (const std::size_t missing : {1u, 15u}) {
    auto runs = runs_of(series(30, 6));
    for (std::size_t i = 0; i < missing; ++i) runs[29 - i].points[0].metrics[0].values.clear();
    History h = judge(runs, {});
    EXPECT_EQ(h.word, Outcome::incomplete);
    EXPECT_EQ(h.exit_code, 12);
    EXPECT_EQ(h.missing, 1u);
    EXPECT_EQ(h.series[0].left_out.size(), missing);
    EXPECT_NE(h.sentence.find("1 missing from the newest run"), std::string::npos);
    for (const std::vector<std::string>& only : {std::vector<std::string>{"--only", "x"}, {"--only=x"}}) {
      for (std::size_t i = 0; i < missing; ++i) runs[29 - i].command = only;
      EXPECT_EQ(judge(runs, {}).word, Outcome::pass) << only.front();  // nobody asked for it
    }
  }
}

TEST(History, UnprovenAndDisturbedRunsMakeNoLevels) {
  const auto with = [](std::size_t from, std::size_t to, double unproven, double disturbed) {
    auto values = series(30, 6);
    for (std::size_t i = from; i < to; ++i) values[i] *= 2;
    auto runs = runs_of(values);
    for (std::size_t i = from; i < to; ++i) {
      runs[i].points[0].cache_unproven_share = unproven;
      runs[i].points[0].disturbed_share = disturbed;
    }
    return judge(runs, {});
  };
  EXPECT_EQ(with(5, 12, 0, 0).changes, 2u);
  for (const double disturbed : {0.0, 0.5}) {
    const History h = with(5, 12, disturbed > 0 ? 0 : 0.2, disturbed);
    EXPECT_EQ(h.changes, 0u);
    EXPECT_EQ(h.word, Outcome::pass);
    ASSERT_EQ(h.series[0].left_out.size(), 7u);
    EXPECT_EQ(h.series[0].left_out[0].why, disturbed > 0 ? "disturbed" : "cache-unproven");
  }
  const History newest = with(29, 30, 1, 0);  // nobody knows what it would have given
  EXPECT_EQ(newest.word, Outcome::inconclusive);
  EXPECT_EQ(newest.left_out, 1u);
  auto runs = runs_of(series(30, 6));  // a rate of 0 that was not proven is no proof that nothing is delivered
  for (std::size_t i = 26; i < 30; ++i) {
    runs[i].points[0].cache_unproven_share = 1;
    runs[i].points[0].metrics[0].median = 0;
  }
  const History unknown = judge(runs, {});
  EXPECT_EQ(unknown.series[0].newest.left_out_for, "cache-unproven");
  EXPECT_EQ(unknown.word, Outcome::inconclusive);
}

TEST(History, RunsWithNamesInMemoryMakeNoLevelAmongThoseThatDroppedThem) {
  const auto with = [](std::size_t from, std::size_t to) {
    auto runs = runs_of(series(30, 6, from, 2));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      results::StoredPoint& point = runs[i].points[0];
      point.workload = "small_file_read";
      point.cache = "cold";
      point.metrics[0].name = "open_rate";
      point.each.resize(1);
      if (i >= from && i < to) point.each[0].warm_names = "only root can drop them";
    }
    return judge(runs, {});
  };
  const History some = with(15, 30);
  EXPECT_EQ(some.changes, 0u) << some.sentence;
  EXPECT_EQ(some.word, Outcome::inconclusive);  // nobody knows what the newest would have given
  EXPECT_EQ(some.series[0].left_out.size(), 15u);
  EXPECT_EQ(some.series[0].newest.left_out_for, "names-in-memory");
  for (const auto& [from, to] : {std::pair(0u, 30u), std::pair(15u, 15u)}) {  // all alike: a change is one
    const History alike = with(from, to);
    EXPECT_TRUE(alike.series[0].left_out.empty());
    EXPECT_EQ(alike.changes, from == 0 ? 0u : 1u) << alike.sentence;
  }
}

TEST(History, UnitsAreConvertedOrKeptApart) {
  auto runs = runs_of(series(30, 6));
  for (std::size_t i = 15; i < 30; ++i) {
    auto& metric = runs[i].points[0].metrics[0];
    metric.unit = "GB/s";
    for (double* value : {&metric.median, &metric.low, &metric.high}) *value /= 1e9;
  }
  const History h = judge(runs, {});
  ASSERT_EQ(h.series.size(), 1u);
  EXPECT_EQ(h.changes, 0u);
  EXPECT_NEAR(h.series[0].value[29], 1e9, 1e8);
  EXPECT_DOUBLE_EQ(h.series[0].low[29], h.series[0].value[29]);
  EXPECT_DOUBLE_EQ(h.series[0].high[29], h.series[0].value[29]);
  for (std::size_t i = 15; i < 30; ++i) runs[i].points[0].metrics[0].unit = "1/s";
  const History apart = judge(runs, {});
  EXPECT_EQ(apart.series.size(), 2u);
  EXPECT_EQ(apart.changes, 0u);
  EXPECT_EQ(apart.missing, 1u);  // what was measured in B/s no longer is
}

TEST(History, ACopyOfARunIsNoOtherRun) {
  auto runs = runs_of(series(9, 6));
  runs.push_back(runs[3]);
  EXPECT_EQ(judge(runs, {}).runs.size(), 9u);
  EXPECT_EQ(judge(runs, {}).word, Outcome::incomplete);
}

TEST(History, AMetricOfANeedIsFollowedThroughRunsWithoutNeeds) {
  auto runs = runs_of(series(24, 4, 14, 0.85));
  for (StoredRun& run : runs) {
    results::StoredMetric other = run.points[0].metrics[0];
    other.name = "sample_rate";
    run.points[0].metrics.insert(run.points[0].metrics.begin(), other);
  }
  Judgement& met = runs.back().judgements.emplace_back();
  met.id = "ingest.read_bandwidth";
  met.scope = "node";
  met.outcome = Outcome::pass;
  met.point = "shard_stream";
  met.metric = "shard_stream.read_bandwidth";
  const History h = judge(runs, {});
  for (const Series& s : h.series)
    if (s.metric == "read_bandwidth") {
      EXPECT_EQ(s.run.size(), 24u);
    }
  EXPECT_EQ(h.word, Outcome::fail);
}

TEST(History, RunsThatWanderAreNoCertainChange) {
  // A slow wave: neighbours are alike, and no run is at a level.
  const auto wave = [](double height) {
    std::vector<double> values;
    for (int i = 0; i < 30; ++i) values.push_back(1 + height * std::sin(i / 8.0));
    return judge(runs_of(values), {});
  };
  for (const double height : {-0.1, 0.1}) {  // it ends upwards, or downwards
    const History h = wave(height);
    ASSERT_FALSE(h.series[0].changes.empty());
    EXPECT_EQ(h.series[0].changes.back().direction, height > 0 ? Direction::worse : Direction::better);
    EXPECT_TRUE(h.series[0].wanders);
    EXPECT_EQ(h.word, height > 0 ? Outcome::inconclusive : Outcome::pass);
    EXPECT_NE(h.series[0].changes[0].explanation.find("may be a drift"), std::string::npos);
  }
  const History flat = wave(0.01);  // so little is no change, and no drift
  EXPECT_TRUE(flat.series[0].changes.empty());
  EXPECT_FALSE(flat.series[0].wanders);
}

TEST(History, ConstantLevelsFail) {
  std::vector<double> values(15, 1.0);
  values.insert(values.end(), 15, 0.7);
  const History h = judge(runs_of(values), {});
  EXPECT_EQ(h.exit_code, 10);
  EXPECT_FALSE(h.series[0].wanders);
}

TEST(History, ALevelThatWentIsReportedAndOneThatIsBackFails) {
  const History returned = judge(runs_of(levels({12, 8, 10}, 0.8, 5)), {});
  EXPECT_EQ(returned.changes, 2u);
  EXPECT_EQ(returned.exit_code, 0);
  EXPECT_EQ(judge(runs_of(levels({10, 8, 8, 6}, 0.8, 5)), {}).exit_code, 10);
}

TEST(History, TwoLevelsThatComeAndGoAreOpen) {
  for (const std::size_t length : {1u, 2u, 3u})
    for (const std::size_t parts : {9u, 10u}) {  // it ends at the upper level, or at the lower
      const std::vector<std::size_t> lengths(length == 3 ? parts : parts * 2 + parts % 2, length);
      const History h = judge(runs_of(levels(lengths, 0.8, 5)), {});
      EXPECT_EQ(h.exit_code, 11) << length;
      ASSERT_TRUE(h.series[0].two_levels) << length;
      EXPECT_NE(h.sentence.find("are at two levels"), std::string::npos) << h.sentence;
    }
}

/// A metric that was read.
std::vector<StoredRun> facts(const std::vector<double>& values, const std::string& unit = "count") {
  std::vector<StoredRun> runs = runs_of(values);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].points[0].deterministic = true;
    StoredMetric& metric = runs[i].points[0].metrics[0];
    metric.unit = unit;
    metric.values = {values[i]};
    metric.median = metric.low = metric.high = values[i];
  }
  return runs;
}

TEST(History, CountsAreComparedExactly) {
  EXPECT_EQ(judge(facts(std::vector<double>(12, 64)), {}).exit_code, 0);
  EXPECT_EQ(judge(facts({64, 64, 63}), {}).exit_code, 10);  // one run shows it
  EXPECT_EQ(judge(facts({64, 63, 64}), {}).exit_code, 0);
  EXPECT_EQ(judge(facts({64, 63, 64}), {}).changes, 2u);
  EXPECT_EQ(judge(facts({64}), {}).exit_code, 12);
  std::vector<double> fewer(15, 64);
  fewer.insert(fewer.end(), 15, 63);
  const History h = judge(facts(fewer), {});
  EXPECT_EQ(h.exit_code, 10);
  EXPECT_NE(h.sentence.find("from 64 to 63"), std::string::npos) << h.sentence;
  EXPECT_EQ(judge(facts(fewer, "B"), {}).exit_code, 0);  // sizes change by the minute
}

TEST(History, StallsAreSeenInMeansOverTime) {
  std::vector<StoredRun> runs = runs_of(std::vector<double>(30, 1));
  for (std::size_t i = 15; i < 30; ++i) {
    StoredMetric& metric = runs[i].points[0].metrics[0];
    metric.values = {1e9, 1e9, 1e9, 1e8, 1e8};
    metric.mean_over_time = 6.4e8;
  }
  const History h = judge(runs, {});
  EXPECT_EQ(h.exit_code, 10);
  EXPECT_NEAR(h.series[0].changes.at(0).change().value(), -0.36, 1e-9);
  EXPECT_LE(h.series[0].low[20], 6.4e8);
}

TEST(History, TheNewestRunIsUnusualBeyondFourDeviations) {
  for (const auto& [value, unusual] : {std::pair{0.981, false}, {0.979, true}}) {
    std::vector<double> values(20, 1.0);  // the spread counts as half a percent
    values.push_back(value);
    EXPECT_EQ(judge(runs_of(values), {}).series[0].newest.unusual, unusual) << value;
  }
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
}  // namespace headrace::history::history_test
