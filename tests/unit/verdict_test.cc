// Each outcome and reason code, the words that go with them, and the exit code.
#include "harness/verdict.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <vector>

namespace headrace {
namespace {

struct Case {
  std::vector<double> values;
  Evidence evidence;
  Judgement judgement;

  explicit Case(std::vector<double> v, double need, bool higher = true) : values(std::move(v)) {
    evidence.values = values;
    evidence.rank = values.size() >= 15 ? 4 : values.size() >= 10 ? 2 : values.size() >= 5 ? 1 : 0;
    judgement.id = "ingest.read_bandwidth";
    judgement.point = "small_file_read/engine:posix";
    judgement.unit = higher ? "B/s" : "ns";
    judgement.need = need;
    judgement.higher_is_better = higher;
  }
  Judgement& operator()() {
    evidence.values = values;
    judge(evidence, judgement);
    return judgement;
  }
};

const std::vector<double> kFive{1.00e9, 1.02e9, 0.98e9, 1.01e9, 0.99e9};

TEST(Judge, PassWhenTheWorstOfFiveMeetsTheNeed) {
  Case c(kFive, 0.5e9);
  const Judgement& j = c();
  EXPECT_EQ(j.outcome, Outcome::pass);
  EXPECT_EQ(j.reason, Reason::none);
  EXPECT_FALSE(j.thin);
  EXPECT_EQ(*j.measured, 1.00e9);
  EXPECT_EQ(*j.low, 0.98e9);
  EXPECT_EQ(*j.high, 1.02e9);
  EXPECT_DOUBLE_EQ(*j.headroom, 2);
  EXPECT_EQ(j.repetitions, 5u);
  EXPECT_EQ(j.explanation,
            "Measured 1.00 GB/s in 5 repetitions, at worst 980 MB/s; 500 MB/s is needed: +100 %.");
  EXPECT_EQ(j.next_step, "");
}

TEST(Judge, ThinBelowTenPercent) {
  Case c(kFive, 0.97e9);
  EXPECT_EQ(c().outcome, Outcome::pass);
  EXPECT_TRUE(c.judgement.thin);
}

TEST(Judge, FailWhenTheBestOfFiveMissesTheNeed) {
  Case c(kFive, 1.6e9);
  const Judgement& j = c();
  EXPECT_EQ(j.outcome, Outcome::fail);
  EXPECT_EQ(j.explanation,
            "Measured 1.00 GB/s in 5 repetitions; even the good bound, 1.02 GB/s, misses the need "
            "of 1.60 GB/s: -38 %.");
  EXPECT_FALSE(j.next_step.empty());
}

TEST(Judge, LowerIsBetterTurnsTheSidesRound) {
  Case pass({10e6, 12e6, 11e6, 10e6, 13e6}, 20e6, false);
  EXPECT_EQ(pass().outcome, Outcome::pass);
  EXPECT_NEAR(*pass.judgement.headroom, 20.0 / 11, 1e-12);
  EXPECT_EQ(
      pass.judgement.explanation,
      "Measured 11.0 ms in 5 repetitions, at worst 13.0 ms; at most 20.0 ms is needed: +82 %.");
  Case fail({30e6, 32e6, 31e6, 30e6, 33e6}, 20e6, false);
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
  EXPECT_NE(c.judgement.next_step.find("--only 'small_file_read/engine:posix' --looks 5,10,15"),
            std::string::npos)
      << c.judgement.next_step;
}

TEST(Judge, TenValuesUseTheSecondWorst) {
  std::vector<double> values(10, 100.0);
  values[3] = 50;  // one bad one in ten is no reason to fail or to doubt
  Case c(values, 90);
  EXPECT_EQ(c().outcome, Outcome::pass);
  EXPECT_EQ(*c.judgement.low, 100);
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
  EXPECT_EQ(operations().reason, Reason::few_ops);

  Case disturbed(kFive, 0.5e9);
  disturbed.evidence.disturbed_share = 0.4;
  EXPECT_EQ(disturbed().reason, Reason::disturbed);
  disturbed.evidence.disturbed_share = 1.0 / 3;
  EXPECT_EQ(disturbed().outcome, Outcome::pass);

  Case drifting(kFive, 0.5e9);
  drifting.evidence.not_steady_share = 0.6;
  drifting.evidence.next_look = 10;
  EXPECT_EQ(drifting().reason, Reason::not_steady);
  EXPECT_TRUE(undecided(drifting.evidence, drifting.judgement));

  Case humps({100, 101, 150, 151, 100, 101, 150, 151, 150, 100}, 120);
  EXPECT_EQ(humps().reason, Reason::two_humped);
  Case harmless({100, 101, 150, 151, 100, 101, 150, 151, 150, 100}, 90);
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
  for (double Evidence::*share :
       {&Evidence::cache_unproven_share, &Evidence::disturbed_share, &Evidence::not_steady_share}) {
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
  std::vector<Judgement> all{with(Outcome::pass, 1.1),         with(Outcome::skipped),
                             with(Outcome::fail, 0.9),         with(Outcome::error),
                             with(Outcome::inconclusive, 1.0), with(Outcome::fail, 0.2)};
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
  const Judgement pass = with(Outcome::pass), fail = with(Outcome::fail),
                  error = with(Outcome::error), open = with(Outcome::inconclusive),
                  skipped = with(Outcome::skipped);
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
  EXPECT_EQ(summarize(std::vector<Judgement>{}, 0).word, "MEASURED");
  EXPECT_EQ(summarize(std::vector<Judgement>{pass, skipped}, 0).word, "INCOMPLETE");
  EXPECT_EQ(summarize(std::vector<Judgement>{pass}, SIGINT).word, "INTERRUPTED");
}

TEST(Verdict, CountsWhatNoNeedTellsOf) {
  const Judgement pass = with(Outcome::pass), error = with(Outcome::error);
  const Summary failed = summarize(std::vector{pass, error}, 0, {.all = 4, .skipped = 1, .failed = 2});
  EXPECT_EQ(failed.word, "ERROR");
  EXPECT_EQ(failed.needs, 2u);
  EXPECT_EQ(failed.error, 3u);
  EXPECT_EQ(failed.skipped, 0u) << "a need was asked for, and it tells";
  const auto nothing_asked = [](PointCounts points) {
    return summarize(std::vector<Judgement>{}, 0, points);
  };
  EXPECT_EQ(nothing_asked({.all = 2, .skipped = 1}).word, "INCOMPLETE");
  EXPECT_EQ(nothing_asked({.all = 2, .skipped = 1}).skipped, 1u);
  EXPECT_EQ(nothing_asked({.all = 2, .skipped = 2}).word, "SKIPPED");
  EXPECT_EQ(nothing_asked({.all = 2, .skipped = 1, .failed = 1}).word, "ERROR");
  EXPECT_EQ(nothing_asked({.all = 2}).word, "MEASURED");
}

TEST(Verdict, Words) {
  EXPECT_EQ(to_string(Reason::cache_unproven), "cache-unproven");
  EXPECT_EQ(to_string(Outcome::inconclusive), "INCONCLUSIVE");
  EXPECT_EQ(symbol(Outcome::pass, false), "✔");
  EXPECT_EQ(symbol(Outcome::pass, true), "+");
}

}  // namespace
}  // namespace headrace
