// Rules 8 to 10 against SciPy (tests/golden/comparisons.json), and by seeded simulation: false
// alarms, power, and what many metrics do.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/judge/statistics/comparison.h"
#include "harness/judge/statistics/draws.h"
#include "harness/judge/statistics/summary.h"
#include "tests/unit/source_dir.h"

namespace headrace::statistics::statistics_comparison_test {
namespace {

/// Kept, so that a loop may go through a part of them.
const nlohmann::json& vectors() {
  static const nlohmann::json all = [] {
    std::ifstream file(source_dir() + "/tests/golden/comparisons.json");
    return nlohmann::json::parse(file);
  }();
  return all;
}

void expect_estimate(const RatioEstimate& e, const nlohmann::json& v) {
  for (const auto& [key, value] : {std::pair{"ratio", e.ratio},
                                   {"low", e.low},
                                   {"high", e.high},
                                   {"p", e.p},
                                   {"smallest_called", smallest_called(e, kDeltaRate)}})
    EXPECT_NEAR(value, v[key].get<double>(), 1e-8 * std::abs(v[key].get<double>())) << key;
}

TEST(Comparison, BlocksAsSciPyHasThem) {
  for (const auto& v : vectors()["blocks"]) {
    SCOPED_TRACE(v["name"].get<std::string>());
    const std::vector<double> a = v["a"], b = v["b"];
    const auto estimate = compare_blocks(a, b);
    ASSERT_TRUE(estimate);
    expect_estimate(*estimate, v);
  }
}

TEST(Comparison, StoredRunsAsSciPyHasThem) {
  for (const auto& v : vectors()["stored"]) {
    SCOPED_TRACE(v["name"].get<std::string>());
    const std::vector<double> a = v["a"], b = v["b"], past = v["past_medians"];
    const auto estimate = compare_stored(a, b, session_spread(past));
    ASSERT_TRUE(estimate);
    expect_estimate(*estimate, v);
  }
}

TEST(Comparison, BenjaminiHochberg) {
  for (const auto& v : vectors()["stand_out"]) {
    const std::vector<double> p = v["p"];
    EXPECT_EQ(stand_out(p), v["stands_out"].get<std::vector<bool>>()) << v.dump();
  }
}

TEST(Comparison, NoRatioMeansNoEstimate) {
  const std::vector<double> one{1}, good{1, 2}, zero{0, 2}, negative{-1, 2};
  EXPECT_FALSE(compare_blocks(one, one));
  EXPECT_FALSE(compare_blocks(good, zero));
  EXPECT_FALSE(compare_stored(negative, good, {}));
  EXPECT_FALSE(compare_stored(one, good, {}));
  EXPECT_EQ(session_spread(std::vector<double>(7, 1.0)).sessions, 0u);
  EXPECT_EQ(session_spread(std::vector<double>(8, 1.0)).sessions, 8u);
}

TEST(Comparison, WithoutScatterADifferenceIsCertain) {
  const std::vector<double> a{2, 2, 2}, b{1, 1, 1};
  const auto differs = compare_blocks(a, b), same = compare_blocks(a, a);
  EXPECT_EQ(differs->p, 0);
  EXPECT_EQ(classify(*differs, kDeltaRate, Better::higher), Change::worse);
  EXPECT_EQ(same->p, 1);
  EXPECT_EQ(classify(*same, kDeltaRate, Better::higher), Change::same);
}

TEST(Comparison, DirectionsAndLimits) {
  const auto of = [](double ratio, double low, double high, Better better) {
    return classify({.ratio = ratio, .low = low, .high = high}, 0.05, better);
  };
  EXPECT_EQ(of(0.9, 0.85, 0.95, Better::higher), Change::worse);
  EXPECT_EQ(of(0.9, 0.85, 0.95, Better::lower), Change::better);
  EXPECT_EQ(of(0.9, 0.85, 0.95, Better::neither), Change::differs);
  EXPECT_EQ(of(1.03, 1.01, 1.05, Better::higher), Change::small);
  EXPECT_EQ(of(1.01, 0.97, 1.04, Better::higher), Change::same);
  EXPECT_EQ(of(0.93, 0.85, 1.02, Better::higher), Change::inconclusive);
}

TEST(Comparison, FactsAreTheirOwnBounds) {
  const RatioEstimate fewer = compare_facts(64, 32), same = compare_facts(64, 64);
  EXPECT_EQ(fewer.low, 0.5);
  EXPECT_EQ(fewer.high, 0.5);
  EXPECT_EQ(classify(fewer, 0, Better::higher), Change::worse);
  EXPECT_EQ(classify(compare_facts(64, 63), 0, Better::higher), Change::worse);
  EXPECT_EQ(classify(compare_facts(64, 63), 0.05, Better::higher), Change::small);
  EXPECT_EQ(classify(same, 0, Better::higher), Change::same);
}

TEST(Comparison, ACallPassesBothLimits) {
  // Bounds of 1 % either way see a change of 2 %, but nothing below delta is called a change.
  const RatioEstimate sharp{.half_width = std::log(1.01), .margin = std::log(1.005)};
  EXPECT_NEAR(smallest_called(sharp, 0.05), 1.05 * 1.005 - 1, 1e-12);
  EXPECT_NEAR(smallest_called(sharp, 0), 1.01 * 1.005 - 1, 1e-12);
}

/// The design's model of a machine: sessions 2 % apart, repetitions 1.5 %, one in twenty 15 % slow.
class Machine {
 public:
  explicit Machine(std::uint64_t seed, double sessions = 0.02) : draws_(seed), sessions_(sessions) {}
  double normal() { return std::sqrt(-2 * std::log(1 - draws_.share())) * std::cos(2 * M_PI * draws_.share()); }
  void new_session() { session_ = sessions_ * normal(); }
  double repetition(double speed) {
    const double slow = draws_.below(20) == 0 ? 0.85 : 1;
    return speed * slow * std::exp(session_ + 0.015 * normal());
  }
  /// One value of a side per block: the median of the two repetitions of each of its two turns.
  std::pair<std::vector<double>, std::vector<double>> blocks(unsigned count, double speed) {
    std::vector<double> a, b;
    for (unsigned i = 0; i < count; ++i) {
      new_session();
      std::vector<double> base, other;
      for (int n = 0; n < 2; ++n) {
        base.push_back(repetition(1));
        other.push_back(repetition(speed));
      }
      a.push_back(median(base));
      b.push_back(median(other));
    }
    return {a, b};
  }
  std::vector<double> run(unsigned repetitions, double speed) {
    new_session();
    std::vector<double> values;
    for (unsigned i = 0; i < repetitions; ++i) values.push_back(repetition(speed));
    return values;
  }

 private:
  Draws draws_;
  double sessions_, session_ = 0;
};

constexpr int kTries = 1000;

/// Share of tries that are called `wanted`.
template <class Try>
double share(Try one, Change wanted) {
  int hits = 0;
  for (int i = 0; i < kTries; ++i) hits += one() == wanted;
  return static_cast<double>(hits) / kTries;
}

TEST(ComparisonSimulation, BlocksFindALossAndLeaveTheSameAlone) {
  for (const auto& [count, found, same] : {std::tuple{6u, 0.85, 0.30}, {12u, 0.99, 0.80}}) {
    Machine machine(count);
    const auto one = [&, blocks = count](double speed) {
      const auto [a, b] = machine.blocks(blocks, speed);
      return classify(*compare_blocks(a, b), kDeltaRate, Better::higher);
    };
    EXPECT_GE(share([&] { return one(0.92); }, Change::worse), found) << count;
    EXPECT_GE(share([&] { return one(1); }, Change::same), same) << count;
    EXPECT_LE(share([&] { return one(1); }, Change::worse), 0.01) << count;
    EXPECT_LE(share([&] { return one(1); }, Change::better), 0.01) << count;
  }
}

TEST(ComparisonSimulation, TwoHundredPairsOfTheSameGiveAtMostTwoPercentAlarms) {
  Machine machine(7);
  int alarms = 0;
  for (int i = 0; i < 200; ++i) {
    const auto [a, b] = machine.blocks(kFirstLook, 1);
    const Change change = classify(*compare_blocks(a, b), kDeltaRate, Better::higher);
    alarms += change == Change::worse || change == Change::better;
  }
  EXPECT_LE(alarms, 4);
}

/// Shares of stored pairs of ten repetitions that are called changed, worse or the same.
struct Called {
  double changed = 0, worse = 0, same = 0;
};
Called stored_pairs(double sessions, double speed, unsigned past_runs) {
  Machine machine(static_cast<std::uint64_t>(1e6 * sessions + 1e3 * speed + past_runs), sessions);
  Called called;
  for (int i = 0; i < kTries; ++i) {
    std::vector<double> past;
    for (unsigned n = 0; n < past_runs; ++n) past.push_back(median(machine.run(10, 1)));
    const auto a = machine.run(10, 1), b = machine.run(10, speed);
    const Change change = classify(*compare_stored(a, b, session_spread(past)), kDeltaRate, Better::higher);
    called.worse += 1.0 / kTries * (change == Change::worse);
    called.changed += 1.0 / kTries * (change == Change::worse || change == Change::better);
    called.same += 1.0 / kTries * (change == Change::same);
  }
  std::printf("sessions %.1f %% apart, %u past runs, B %+3.0f %%: changed %4.1f %%, the same %4.1f %%\n",
              100 * sessions, past_runs, 100 * (speed - 1), 100 * called.changed, 100 * called.same);
  return called;
}

TEST(ComparisonSimulation, WithoutHistoryTheBoundsHoldUpToTheAssumedSpread) {
  for (const double sessions : {0.0, 0.01, 0.02, 0.03}) {
    EXPECT_LE(stored_pairs(sessions, 1, 0).changed, 0.03) << sessions;
    EXPECT_LE(stored_pairs(sessions, 0.93, 0).same, 0.01) << sessions;
  }
  EXPECT_GE(stored_pairs(0.02, 0.8, 0).worse, 0.95);
}

TEST(ComparisonSimulation, HistoryReportsSessionsFromChanges) {
  for (const double sessions : {0.0, 0.02, 0.03, 0.05}) {
    EXPECT_LE(stored_pairs(sessions, 1, 8).changed, 0.03) << sessions;
    EXPECT_LE(stored_pairs(sessions, 0.93, 8).same, 0.02) << sessions;
  }
  EXPECT_GE(stored_pairs(0.02, 0.8, 8).worse, 0.95);
  EXPECT_GE(stored_pairs(0.005, 0.9, 8).worse, 0.85);
}

TEST(ComparisonSimulation, AmongManyMetricsFewFalseOnes) {
  Draws draws(9);
  int false_ones = 0, found = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<double> p;
    for (int m = 0; m < 25; ++m) p.push_back(draws.share());  // nothing differs
    for (int m = 0; m < 5; ++m) p.push_back(1e-4 * draws.share());
    const auto out = stand_out(p);
    for (std::size_t m = 0; m < p.size(); ++m) (m < 25 ? false_ones : found) += out[m];
  }
  EXPECT_EQ(found, 300 * 5);
  EXPECT_LE(static_cast<double>(false_ones) / (false_ones + found), 0.06);
}

TEST(NoiseFloor, GrowsWithTheScatterAndAlarmsStayFew) {
  std::vector<double> quiet, loud;
  Machine machine(11);
  for (int i = 0; i < 12; ++i) {
    quiet.push_back(0.005 * machine.normal());
    loud.push_back(0.05 * machine.normal());
  }
  EXPECT_LT(noise_floor(quiet), 0.015);
  EXPECT_GT(noise_floor(loud), 0.03);
  EXPECT_EQ(false_alarm_rate(quiet, kDeltaRate), 0);
  EXPECT_LE(false_alarm_rate(loud, kDeltaRate), 0.025);
  EXPECT_EQ(false_alarm_rate(loud, kDeltaRate), false_alarm_rate(loud, kDeltaRate));
}

}  // namespace
}  // namespace headrace::statistics::statistics_comparison_test
