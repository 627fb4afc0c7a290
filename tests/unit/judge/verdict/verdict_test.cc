// Each outcome and reason code, the words that go with them, and the exit code.
#include "harness/judge/verdict/verdict.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <vector>

#include "harness/judge/statistics/summary.h"

namespace headrace::verdict_test {
namespace {

struct Case {
  Evidence evidence;
  Judgement judgement;

  explicit Case(const std::vector<double>& v, double need, bool higher = true) {
    for (const double value : v) evidence.taken.push_back({.value = value, .seconds = 1});
    const statistics::LookPlan plan = statistics::plan_looks({5, 10, 15});
    evidence.rank = statistics::rank_for(plan, v.size());
    evidence.alpha = statistics::alpha_for(plan, v.size());
    evidence.rate = higher;
    judgement.id = "ingest.read_bandwidth";
    judgement.point = "small_file_read/engine:posix";
    judgement.unit = higher ? "B/s" : "ns";
    judgement.need = need;
    judgement.higher_is_better = higher;
  }
  Judgement& operator()() {
    judge(evidence, judgement);
    return judgement;
  }
};

const std::vector<double> kFive{1.00e9, 1.02e9, 0.98e9, 1.01e9, 0.99e9};

TEST(Judge, PassWhenEvenTheBadBoundMeetsTheNeed) {
  Case c(kFive, 0.5e9);
  const Judgement& j = c();
  EXPECT_EQ(j.outcome, Outcome::pass);
  EXPECT_EQ(j.reason, Reason::none);
  EXPECT_FALSE(j.thin);
  EXPECT_EQ(*j.measured, 1.00e9);
  EXPECT_EQ(*j.typical, 1.00e9);
  EXPECT_FALSE(j.lost_to_stalls);
  EXPECT_NEAR(*j.low, 1.00e9 * std::exp(-23.48 * 0.0158 / std::sqrt(5)), 2e6);
  EXPECT_NEAR(*j.low * *j.high, 1e18, 1e12);  // the same factor both ways
  EXPECT_DOUBLE_EQ(*j.headroom, 2);
  EXPECT_EQ(j.repetitions, 5u);
  EXPECT_EQ(j.explanation,
            "Measured 1.00 GB/s in 5 repetitions of one session, at worst 847 MB/s; 500 MB/s is "
            "needed: +100 %.");
  EXPECT_EQ(j.next_step, "");
}

TEST(Judge, ThinBelowTenPercent) {
  Case c(std::vector<double>(15, 1.00e9), 0.95e9);
  EXPECT_EQ(c().outcome, Outcome::pass);
  EXPECT_TRUE(c.judgement.thin);
  c.judgement.need = 0.97e9;  // within what stalls cost that that few repetitions may not have shown
  EXPECT_EQ(c().outcome, Outcome::inconclusive);
}

TEST(Judge, FailWhenTheGoodBoundMissesTheNeed) {
  Case c(kFive, 1.6e9);
  const Judgement& j = c();
  EXPECT_EQ(j.outcome, Outcome::fail);
  EXPECT_EQ(j.explanation,
            "Measured 1.00 GB/s in 5 repetitions of one session; even the top of the range "
            "(1.18 GB/s) is below the required 1.60 GB/s: -38 %.");
  EXPECT_FALSE(j.next_step.empty());
}

/// A training run feels bytes over time: one second of 400 MB/s and one of 1 GB/s are 700 MB/s.
TEST(Judge, ARateIsTotalWorkOverTotalTime) {
  Case c({100, 400, 100, 400, 100, 400, 100, 400, 100, 400}, 1);
  EXPECT_EQ(*c().measured, 250);
  for (Taken& t : c.evidence.taken) t.seconds = 1 / *t.value;  // each did the same work
  EXPECT_NEAR(*c().measured, 160, 1e-9);
  EXPECT_EQ(*c.judgement.typical, 250);
}

TEST(Judge, TheCostOfStallsIsReported) {
  std::vector<double> values(15, 100.0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.1 * static_cast<double>(i % 3);
  values[4] = values[11] = 50;
  Case c(values, 20);
  ASSERT_TRUE(c().lost_to_stalls);
  EXPECT_EQ(c.judgement.outcome, Outcome::pass);
  EXPECT_NEAR(*c.judgement.lost_to_stalls, 0.067, 0.002);
  EXPECT_NE(c.judgement.explanation.find(" Stalls cost 7 %: the typical repetition gave 100 B/s."), std::string::npos)
      << c.judgement.explanation;
}

/// From 1 % on, and only what is more than the scatter of the typical repetition.
TEST(Judge, NonStallsAreNotReported) {
  const auto with_two_of = [](double value) {
    std::vector<double> values(15, 100.0);
    values[4] = values[11] = value;
    Case c(values, 20);
    return c().lost_to_stalls;
  };
  EXPECT_FALSE(with_two_of(96));  // 0.5 %
  ASSERT_TRUE(with_two_of(88.75));
  EXPECT_NEAR(*with_two_of(88.75), 0.015, 1e-12);
  std::vector<double> scattered;  // 2 % below their median, as a few of them alone are often
  for (int i = 0; i < 15; ++i) scattered.push_back(100 + 3 * (i % 8 - 4) - (i % 8 < 2 ? 8 : 0));
  Case c(scattered, 20);
  c();
  EXPECT_LT(*c.judgement.measured, 0.99 * *c.judgement.typical);
  EXPECT_FALSE(c.judgement.lost_to_stalls);
  Case few({100, 100, 100, 40}, 20);
  EXPECT_FALSE(few().lost_to_stalls);
}

/// Of fewer than five a rate is a mean over time, too; everything else is a median.
TEST(Judge, AnEstimateReplacesMissingBounds) {
  Case rate({100, 400}, 10);
  for (Taken& t : rate.evidence.taken) t.seconds = 1 / *t.value;  // each did the same work
  EXPECT_EQ(rate().reason, Reason::few_reps);
  EXPECT_NEAR(*rate.judgement.measured, 160, 1e-9);
  EXPECT_FALSE(rate.judgement.low);
  EXPECT_FALSE(rate.judgement.high);
  Case latency({10e6, 20e6, 90e6}, 50e6, false);
  EXPECT_EQ(latency().reason, Reason::few_reps);
  EXPECT_EQ(*latency.judgement.measured, 20e6);
  Case no_look(kFive, 0.1e9);  // looks that allow no decision after that few
  no_look.evidence.rank = 0;
  EXPECT_EQ(no_look().reason, Reason::few_reps);
}

TEST(Judge, LowerIsBetterTurnsTheSidesRound) {
  Case pass({10e6, 12e6, 11e6, 10e6, 13e6}, 50e6, false);
  EXPECT_EQ(pass().outcome, Outcome::pass);
  EXPECT_FALSE(pass.judgement.typical);  // is what was measured
  EXPECT_NEAR(*pass.judgement.headroom, 50.0 / 11, 1e-12);
  EXPECT_EQ(pass.judgement.explanation,
            "Measured 11.0 ms in 5 repetitions of one session, at worst 36.8 ms; at most 50.0 ms "
            "is needed: "
            "+355 %.");
  Case fail({30e6, 32e6, 31e6, 30e6, 33e6}, 15e6, false);
  EXPECT_EQ(fail().outcome, Outcome::fail);
  Case straddle({10e6, 32e6, 21e6, 15e6, 26e6}, 20e6, false);
  EXPECT_EQ(straddle().outcome, Outcome::inconclusive);
}

TEST(Judge, StraddlesNamesTheNextLookAndThenTheNextStep) {
  Case c(kFive, 1.005e9);
  c.evidence.next_look = 10;
  EXPECT_EQ(c().outcome, Outcome::inconclusive);
  EXPECT_EQ(c.judgement.reason, Reason::straddles);
  EXPECT_NE(c.judgement.explanation.find("the next look is at 10"), std::string::npos);
  EXPECT_TRUE(undecided(c.evidence, c.judgement));
  c.evidence.next_look = 0;
  c();
  EXPECT_FALSE(undecided(c.evidence, c.judgement));
  EXPECT_NE(c.judgement.next_step.find("--only 'small_file_read/engine:posix' --looks 5,10,15"), std::string::npos)
      << c.judgement.next_step;
}

/// One slow repetition of ten says that there are such: the need must be cleared by that, too.
TEST(Judge, ASlowRepetitionWidensTheBounds) {
  std::vector<double> values(10, 100.0);
  values[3] = 50;
  Case c(values, 50);
  EXPECT_EQ(c().outcome, Outcome::pass);
  EXPECT_EQ(*c.judgement.measured, 95);
  c.judgement.need = 90;
  EXPECT_EQ(c().reason, Reason::straddles);
}

TEST(Judge, NeighboursThatAreAlikeAreNamed) {
  std::vector<double> values;
  for (int i = 0; i < 15; ++i) values.push_back(100 + 10 * std::sin(i / 2.5));
  Case c(values, 100);
  EXPECT_EQ(c().reason, Reason::correlated);
  EXPECT_NE(c.judgement.next_step.find("rest:"), std::string::npos);
  EXPECT_EQ(to_string(Reason::correlated), "correlated");
}

/// A neighbour mostly slows: what passes beside one passes.
TEST(Judge, DisturbanceExplainsAndDoesNotVeto) {
  Case pass(kFive, 0.5e9);
  for (std::size_t i = 0; i < 3; ++i) pass.evidence.taken[i].disturbed = true;
  pass.evidence.disturbed_why = "foreign I/O 6 % of the test's bytes";
  EXPECT_EQ(pass().outcome, Outcome::pass);
  EXPECT_NE(pass.judgement.explanation.find(" 3 of 5 repetitions were disturbed: foreign I/O 6 % of the test's "
                                            "bytes; the need is met even so."),
            std::string::npos)
      << pass.judgement.explanation;

  Case fail(std::vector<double>(12, 1.0e9), 1.6e9);
  for (std::size_t i = 0; i < 8; ++i) fail.evidence.taken[i].disturbed = true;
  EXPECT_EQ(fail().outcome, Outcome::inconclusive) << "only 4 were left alone";
  EXPECT_EQ(fail.judgement.reason, Reason::disturbed);
  fail.evidence.taken[0].disturbed = false;
  EXPECT_EQ(fail().outcome, Outcome::fail);
  EXPECT_NE(fail.judgement.explanation.find("undisturbed repetitions miss the need as well."), std::string::npos)
      << fail.judgement.explanation;
}

/// Taking again what was disturbed must not make a slow system fast.
TEST(Judge, RepeatedRepetitionsAreNotForgotten) {
  Case c(kFive, 0.8e9);
  EXPECT_EQ(c().outcome, Outcome::pass);
  c.evidence.taken.push_back({.value = 0.9e9, .seconds = 1, .counted = false, .disturbed = true});
  EXPECT_EQ(c().outcome, Outcome::pass) << "even that meets the need";
  EXPECT_EQ(c.judgement.repetitions, 5u);
  EXPECT_EQ(*c.judgement.measured, 1e9);
  c.evidence.taken.push_back({.value = 0.4e9, .seconds = 1, .counted = false, .disturbed = true});
  EXPECT_EQ(c().outcome, Outcome::inconclusive);
  EXPECT_EQ(c.judgement.reason, Reason::disturbed);
  EXPECT_NE(c.judgement.explanation.find("2 were repeated, and all of them together give 900 MB/s: INCONCLUSIVE."),
            std::string::npos)
      << c.judgement.explanation;
}

/// The highest rate of a ramp is reported where it held; where it did not, nothing did.
TEST(Judge, ARateThatDidNotAlwaysHoldDoesNotPass) {
  Case c(std::vector<double>(7, 100.0), 50);
  for (int i = 0; i < 8; ++i) c.evidence.taken.push_back({.value = {}, .seconds = 1});
  EXPECT_EQ(c().outcome, Outcome::inconclusive);
  EXPECT_EQ(c.judgement.reason, Reason::not_steady);
  EXPECT_EQ(c.judgement.explanation, "It did not hold in 8 of 15 repetitions; measured 100 B/s, needed 50.0 B/s.");
  Case never({}, 50);
  for (int i = 0; i < 5; ++i) never.evidence.taken.push_back({.value = {}, .seconds = 1});
  EXPECT_EQ(never().outcome, Outcome::inconclusive);
  EXPECT_EQ(never.judgement.reason, Reason::not_steady);
  Case low(std::vector<double>(7, 100.0), 500);  // the rates that held were too low
  for (int i = 0; i < 8; ++i) low.evidence.taken.push_back({.value = {}, .seconds = 1});
  EXPECT_EQ(low().outcome, Outcome::fail);
}

TEST(Judge, EachReasonCode) {
  Case few({1e9, 1e9}, 0.5e9);
  EXPECT_EQ(few().reason, Reason::few_reps);
  Case none({}, 0.5e9);
  EXPECT_EQ(none().reason, Reason::few_reps);
  EXPECT_FALSE(none.judgement.measured);

  Case cache(kFive, 0.5e9);
  cache.evidence.cache_unproven_share = 0.2;
  cache.evidence.cache_why = "12 % resident before";
  cache.evidence.next_look = 10;
  EXPECT_EQ(cache().reason, Reason::cache_unproven);
  EXPECT_NE(cache.judgement.explanation.find("12 % resident before"), std::string::npos);
  EXPECT_FALSE(undecided(cache.evidence, cache.judgement));  // more repetitions prove nothing

  Case operations(kFive, 0.5e9);
  operations.evidence.too_few_operations = true;
  operations.evidence.next_look = 10;
  EXPECT_EQ(operations().reason, Reason::few_ops);
  EXPECT_FALSE(undecided(operations.evidence, operations.judgement));  // nor do more give more operations each

  Case drifting(kFive, 0.5e9);
  drifting.evidence.not_steady_share = 0.33;
  EXPECT_EQ(drifting().outcome, Outcome::pass) << "up to a third may be";
  drifting.evidence.not_steady_share = 0.34;
  drifting.evidence.next_look = 10;
  EXPECT_EQ(drifting().reason, Reason::not_steady);
  EXPECT_TRUE(undecided(drifting.evidence, drifting.judgement));

  Case humps({100, 101, 150, 151, 100, 101, 150, 151, 150, 100}, 120);
  EXPECT_EQ(humps().reason, Reason::two_humped);
  Case harmless({100, 101, 150, 151, 100, 101, 150, 151, 150, 100}, 60);
  EXPECT_EQ(harmless().outcome, Outcome::pass);
}

TEST(Judge, EverySentenceEndsAndEveryInconclusiveHasANextStep) {
  Case c(kFive, 0.5e9);
  const auto look = [&c] {
    EXPECT_EQ(c.judgement.explanation.back(), '.');
    EXPECT_EQ(c.judgement.next_step.empty(), c.judgement.outcome == Outcome::pass);
  };
  c();
  look();
  for (double Evidence::*share : {&Evidence::cache_unproven_share, &Evidence::not_steady_share}) {
    c.evidence.*share = 1;
    c();
    look();
    c.evidence.*share = 0;
  }
}

TEST(Judge, AFactIsItsOwnBound) {
  Case c({2}, 128);
  c.judgement.id = "host.cpu_cores";
  c.judgement.unit = "count";
  c.evidence.deterministic = true;
  EXPECT_EQ(c().outcome, Outcome::fail);
  EXPECT_EQ(c.judgement.explanation, "Available: 2; needed: 128: 2 % of the need.");
  c.judgement.need = 2;
  EXPECT_EQ(c().outcome, Outcome::pass);
}

TEST(Judge, ASingleLongRunDecidesOnlyClearCases) {
  Case c({1.0e9}, 0.85e9);
  c.evidence.single_run = statistics::SingleRun{true, 100, 98, 102, 12, 1};
  EXPECT_EQ(c().outcome, Outcome::pass);
  c.judgement.need = 0.95e9;  // below the batch bounds, but not by 10 %
  EXPECT_EQ(c().reason, Reason::single_session);
  c.judgement.need = 1.2e9;
  EXPECT_EQ(c().outcome, Outcome::fail);
  c.evidence.single_run->usable = false;
  EXPECT_EQ(c().reason, Reason::few_reps);
  Case nothing({1.0e9}, 0.85e9);
  nothing.evidence.single_run = statistics::SingleRun{true, 0, 0, 0, 12, 1};
  EXPECT_EQ(nothing().reason, Reason::few_reps);
  Case two({1.0e9, 1.0e9}, 0.85e9);
  two.evidence.single_run = statistics::SingleRun{true, 100, 98, 102, 12, 1};
  EXPECT_EQ(two().reason, Reason::few_reps);
}

TEST(Judge, ANeedOfNothingIsMet) {
  Case c(kFive, 0);
  EXPECT_EQ(c().outcome, Outcome::pass);
  EXPECT_FALSE(c.judgement.headroom);
}

Judgement with(Outcome outcome, std::optional<double> headroom = {}) {
  Judgement j;
  j.outcome = outcome;
  j.headroom = headroom;
  return j;
}

TEST(Verdict, WorstFirst) {
  std::vector<Judgement> all{with(Outcome::pass, 1.1), with(Outcome::skipped),           with(Outcome::fail, 0.9),
                             with(Outcome::error),     with(Outcome::inconclusive, 1.0), with(Outcome::fail, 0.2)};
  sort_worst_first(all);
  EXPECT_EQ(*all[0].headroom, 0.2);
  EXPECT_EQ(all[1].outcome, Outcome::fail);
  EXPECT_EQ(all[2].outcome, Outcome::error);
  EXPECT_EQ(all[3].outcome, Outcome::inconclusive);
  EXPECT_EQ(all[4].outcome, Outcome::skipped);
  EXPECT_EQ(all[5].outcome, Outcome::pass);
}

TEST(Verdict, ExitCodes) {
  const auto code = [](std::vector<Judgement> js, int signal = 0, PointCounts points = {}) {
    return summarize(js, signal, points).exit_code;
  };
  const Judgement pass = with(Outcome::pass), fail = with(Outcome::fail), error = with(Outcome::error),
                  open = with(Outcome::inconclusive), skipped = with(Outcome::skipped);
  EXPECT_EQ(code({pass}), 0);
  EXPECT_EQ(code({}), 0);
  EXPECT_EQ(code({pass, skipped}), 12);
  EXPECT_EQ(code({pass, skipped, open}), 11);
  EXPECT_EQ(code({pass, skipped, open, error}), 1);
  EXPECT_EQ(code({pass, skipped, open, error, fail}), 10);
  EXPECT_EQ(code({skipped, skipped}), 77);
  EXPECT_EQ(code({pass}, 0, {.all = 2, .failed = 1}), 1);
  EXPECT_EQ(code({fail}, 0, {.all = 2, .failed = 1}), 10);
  EXPECT_EQ(code({pass}, SIGINT), 130);
  EXPECT_EQ(code({fail}, SIGTERM), 143);
  EXPECT_EQ(summarize(std::vector<Judgement>{}, 0).word, Outcome::measured);
  EXPECT_EQ(summarize(std::vector<Judgement>{pass, skipped}, 0).word, Outcome::incomplete);
  EXPECT_EQ(summarize(std::vector<Judgement>{pass}, SIGINT).word, Outcome::interrupted);
}

TEST(Verdict, CountsValuesWithoutANeed) {
  const Judgement pass = with(Outcome::pass), error = with(Outcome::error);
  const Summary failed = summarize(std::vector{pass, error}, 0, {.all = 4, .skipped = 1, .failed = 2});
  EXPECT_EQ(failed.word, Outcome::error);
  EXPECT_EQ(failed.needs, 2u);
  EXPECT_EQ(failed.error, 3u);
  EXPECT_EQ(failed.skipped, 0u) << "a need was asked for, and it tells";
  const auto nothing_asked = [](PointCounts points) { return summarize(std::vector<Judgement>{}, 0, points); };
  EXPECT_EQ(nothing_asked({.all = 2, .skipped = 1}).word, Outcome::incomplete);
  EXPECT_EQ(nothing_asked({.all = 2, .skipped = 1}).skipped, 1u);
  EXPECT_EQ(nothing_asked({.all = 2, .skipped = 2}).word, Outcome::skipped);
  EXPECT_EQ(nothing_asked({.all = 2, .skipped = 1, .failed = 1}).word, Outcome::error);
  EXPECT_EQ(nothing_asked({.all = 2}).word, Outcome::measured);
}

TEST(Verdict, IsAnErrorWhereItsFilesAreLostUnlessItShowsMore) {
  for (const Outcome word : {Outcome::pass, Outcome::measured, Outcome::inconclusive, Outcome::incomplete,
                             Outcome::skipped, Outcome::error, Outcome::fail}) {
    const Summary lost = when_lost({.word = word, .exit_code = exit_code(word)});
    EXPECT_EQ(lost.word, word == Outcome::fail ? word : Outcome::error) << to_string(word);
    EXPECT_EQ(lost.exit_code, exit_code(lost.word)) << to_string(word);
  }
}

TEST(Verdict, Words) {
  EXPECT_EQ(to_string(Reason::cache_unproven), "cache-unproven");
  EXPECT_EQ(to_string(Outcome::inconclusive), "INCONCLUSIVE");
  EXPECT_EQ(symbol(Outcome::pass, false), "✔");
  EXPECT_EQ(symbol(Outcome::pass, true), "+");
}

}  // namespace
}  // namespace headrace::verdict_test
