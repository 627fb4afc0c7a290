// One session's verdict, compared with how far past sessions lie apart. Sessions whose truth is known are judged by the
// product's own code: look plan, bounds, spread, widening.
#include "harness/judge/verdict/across_sessions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/judge/statistics/draws.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::judging::across_sessions_test {
namespace {

struct Sessions {
  double differ, scatter;  // standard deviations between sessions, and within one
  statistics::Draws draws{3};

  double normal() { return std::sqrt(-2 * std::log(1 - draws.share())) * std::cos(2 * M_PI * draws.share()); }

  std::vector<double> one(std::size_t repetitions) {
    const double middle = std::exp(differ * normal());
    std::vector<double> rates;
    while (rates.size() < repetitions) rates.push_back(middle * std::exp(scatter * normal()));
    return rates;
  }

  statistics::SessionSpread past(unsigned count) {
    std::vector<double> medians;
    while (medians.size() < count) medians.push_back(statistics::median(one(10)));
    return statistics::session_spread(medians);
  }

  /// The word of one session, over all looks.
  Judgement verdict(double need, bool higher_is_better = true) {
    const auto looks = statistics::plan_looks({5, 10, 15});
    const std::vector<double> rates = one(15);
    Judgement j;
    j.id = "need.rate";
    j.unit = "1/s";
    j.need = j.required = need;
    j.higher_is_better = higher_is_better;
    for (std::size_t n = 5; n <= 15; n += 5) {
      Evidence e;
      e.rate = true;
      for (std::size_t i = 0; i < n; ++i) e.taken.push_back({.value = rates[i], .seconds = 1});
      e.rank = statistics::rank_for(looks, n);
      e.alpha = statistics::alpha_for(looks, n);
      judge(e, j);
      if (j.outcome != Outcome::inconclusive) break;
    }
    return j;
  }
};

struct Shares {
  double pass = 0, fail = 0, single_session = 0;
};

/// `past` sessions are known; 0 = none.
Shares shares(double need, unsigned past, double differ, bool higher_is_better = true) {
  Sessions sessions{differ, 0.01};
  constexpr int kTrials = 600;
  Shares all;
  for (int i = 0; i < kTrials; ++i) {
    const statistics::SessionSpread spread = sessions.past(past);
    Judgement j = sessions.verdict(need, higher_is_better);
    hold_across_sessions(spread, j);
    all.pass += (j.outcome == Outcome::pass) / static_cast<double>(kTrials);
    all.fail += (j.outcome == Outcome::fail) / static_cast<double>(kTrials);
    all.single_session += (j.reason == Reason::single_session) / static_cast<double>(kTrials);
  }
  std::printf("sessions %.0f %% apart, %u past, need %.2f: PASS %.1f %%, FAIL %.1f %%, single-session %.1f %%\n",
              100 * differ, past, need, 100 * all.pass, 100 * all.fail, 100 * all.single_session);
  return all;
}

TEST(AcrossSessions, AtTheNeedNeitherWordIsSaidTooOften) {
  for (const bool higher : {true, false})
    for (const double differ : {0.02, 0.05}) {
      const Shares known = shares(1, 8, differ, higher);
      EXPECT_LE(known.pass, 0.05) << differ;
      EXPECT_LE(known.fail, 0.05) << differ;
    }
}

/// What one session says without the others: this is why it is called one.
TEST(AcrossSessions, WithoutThemTheWordIsOfThisSession) {
  const Shares alone = shares(1, 0, 0.05);
  EXPECT_GT(alone.pass + alone.fail, 0.1);
  EXPECT_EQ(alone.single_session, 0);
}

TEST(AcrossSessions, ValuesFarFromTheNeedStayDecided) {
  EXPECT_GE(shares(1 / 1.15, 8, 0.02).pass, 0.9);
  EXPECT_GE(shares(1 / 0.85, 8, 0.02).fail, 0.9);
}

Judgement passed(double need, double low, double measured, double high) {
  Judgement j;
  j.outcome = Outcome::pass;
  j.unit = "1/s";
  j.need = need;
  j.thin = true;
  j.low = low;
  j.measured = measured;
  j.high = high;
  return j;
}

TEST(AcrossSessions, BoundsAreAddedAsIndependentErrors) {
  Judgement j = passed(80, 97, 100, 104);
  hold_across_sessions({.spread = 0.02, .sessions = 8}, j);
  const double between = 1.894579 * 0.02;  // Student's t of 95 % with 7 degrees of freedom, as tables have it
  EXPECT_NEAR(*j.low, 100 * std::exp(-std::hypot(std::log(1 / 0.97), between)), 1e-4);
  EXPECT_NEAR(*j.high, 100 * std::exp(std::hypot(std::log(1.04), between)), 1e-4);
  EXPECT_EQ(j.outcome, Outcome::pass);
  EXPECT_TRUE(j.thin);
}

TEST(AcrossSessions, AnUnsupportedVerdictIsTakenBackWithTheReason) {
  Judgement j = passed(96, 97, 100, 104);
  hold_across_sessions({.spread = 0.02, .sessions = 8}, j);
  EXPECT_EQ(j.outcome, Outcome::inconclusive);
  EXPECT_EQ(j.reason, Reason::single_session);
  EXPECT_FALSE(j.thin);
  EXPECT_NE(j.explanation.find("8 past sessions scatter by 2.0 %"), std::string::npos) << j.explanation;
  EXPECT_NE(j.next_step.find("headrace size"), std::string::npos);
}

TEST(AcrossSessions, UnknownsAndNonMeasurementsStay) {
  Judgement unknown = passed(96, 97, 100, 104);
  hold_across_sessions({}, unknown);
  EXPECT_EQ(unknown.outcome, Outcome::pass);
  EXPECT_EQ(unknown.low, 97);
  Judgement fact = passed(2, 2, 2, 2);
  hold_across_sessions({.spread = 0.5, .sessions = 8}, fact);
  EXPECT_EQ(fact.outcome, Outcome::pass);
  EXPECT_EQ(fact.low, 2);
}

}  // namespace
}  // namespace headrace::judging::across_sessions_test
