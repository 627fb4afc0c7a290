// What another session says of a finding, and what is no other session; what nodes say themselves.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/fleet_runs.h"

namespace headrace::fleet::fleet_sessions_test {
namespace {

StoredRun judged_run(int node, Outcome outcome, const std::string& day = "2",
                     const std::string& need = "ingest.read_bandwidth") {
  StoredRun run = run_of(node, {1e9}, day);
  run.summary.word = outcome;
  Judgement& judgement = run.judgements.emplace_back();
  judgement.id = need;
  judgement.scope = "node";
  judgement.outcome = outcome;
  judgement.point = "w0";
  judgement.metric = "w0.bandwidth";
  return run;
}

/// Twenty nodes whose needs are met.
Runs passing_nodes() {
  Runs runs;
  for (int i = 1; i <= 20; ++i) runs.add(judged_run(i, Outcome::pass));
  return runs;
}

TEST(FleetSessions, ACopyConfirmsNothing) {
  Runs runs;
  runs.usual(20);
  const StoredRun slow = run_of(40, {7.5e8});
  StoredRun copy = slow;
  copy.path = "copied/run.json";
  runs.add(slow);
  runs.add(copy);
  const Fleet fleet = runs.judged();
  ASSERT_EQ(fleet.outliers.size(), 1u);
  EXPECT_EQ(fleet.outliers[0].status, Status::suspected);
  EXPECT_EQ(fleet.nodes[fleet.outliers[0].node].runs, 1u);
  EXPECT_EQ(fleet.exit_code, 11);
}

TEST(FleetSessions, RunsAtTheSameTimeAreOneSession) {
  for (const auto& [began, status] :
       {std::pair{"2026-03-02T11:59:30Z", Status::suspected},  // ran for a minute, until 12:00:30
        {"2026-03-02T12:00:00Z", Status::suspected},
        {"2026-03-02T11:58:59Z", Status::confirmed}}) {
    Runs runs;
    runs.usual(20);
    runs.add(run_of(40, {7.5e8}));
    StoredRun other = run_of(40, {7.5e8});
    other.id = "other";
    other.started_utc = began;
    other.elapsed_s = 60;
    runs.add(other);
    const Fleet fleet = runs.judged();
    ASSERT_EQ(fleet.outliers.size(), 1u);
    EXPECT_EQ(fleet.outliers[0].status, status) << began;
  }
}

TEST(FleetSessions, BothSessionsTogetherDecide) {
  // Nodes differ by 2 %: limit 3.5 times that of one session, 3.3 of two, 2.5 of each.
  const auto status = [](double newest, std::optional<double> before) {
    Runs runs;
    for (int i = 0; i < 41; ++i) runs.add(run_of(i + 1, {1e9 + 1e9 * 0.02 / 1.4826 * (i - 20) / 10}));
    runs.add(run_of(60, {newest}));
    if (before) runs.add(run_of(60, {*before}, "1"));
    const Fleet fleet = runs.judged();
    return fleet.outliers.empty() ? std::string("usual") : std::string(to_string(fleet.outliers[0].status));
  };
  EXPECT_EQ(status(9.3e8, {}), "usual");  // 3.4 deviations off
  EXPECT_EQ(status(9.2e8, {}), "suspected");
  EXPECT_EQ(status(9.3e8, 9.29e8), "confirmed");
  EXPECT_EQ(status(9.36e8, 9.36e8), "usual");   // 3.1 in the mean
  EXPECT_EQ(status(9.2e8, 9.47e8), "passing");  // 3.2
  EXPECT_EQ(status(9.1e8, 9.45e8), "confirmed");
  EXPECT_EQ(status(8.5e8, 9.5e8), "passing");  // one of 2.4
  EXPECT_EQ(status(9.6e8, 8.5e8), "usual");
}

TEST(FleetSessions, AnotherSessionIsComparedWithItsOwnBaseline) {
  // All have become 18 % faster since, but for two that were low for once: nobody is slow twice.
  Runs faster;
  for (int i = 1; i <= 40; ++i) {
    const double noise = 1 + 0.002 * (i % 7 - 3);
    faster.add(run_of(i, {1e9 * noise}, "1"));
    faster.add(run_of(i, {(i > 38 ? 1e9 : 1.18e9) * noise}));
  }
  const Fleet risen = faster.judged();
  ASSERT_EQ(risen.outliers.size(), 2u) << risen.sentence;
  for (const Outlier& one : risen.outliers) EXPECT_EQ(one.status, Status::passing);
  // All have lost 10 % since; the one that was slow before still is.
  Runs slower;
  for (int i = 1; i <= 40; ++i) {
    const double level = (1 + 0.002 * (i % 7 - 3)) * (i == 40 ? 0.9 : 1);
    slower.add(run_of(i, {1e9 * level}, "1"));
    slower.add(run_of(i, {0.9e9 * level}));
  }
  const Fleet fallen = slower.judged();
  ASSERT_EQ(fallen.outliers.size(), 1u) << fallen.sentence;
  EXPECT_EQ(fallen.outliers[0].status, Status::confirmed);
}

TEST(FleetSessions, ACommonLossIsOneFinding) {
  const auto fleet = [](double since, int measured_before) {
    Runs runs;
    for (int i = 1; i <= 20; ++i) {
      const double level = 1e9 * (1 + 0.002 * (i % 7 - 3));
      if (i <= measured_before) runs.add(run_of(i, {level}, "1"));
      runs.add(run_of(i, {level * since}));
    }
    return runs.judged();
  };
  const Fleet fallen = fleet(0.9, 20);
  ASSERT_EQ(fallen.effects.size(), 1u) << fallen.sentence;
  EXPECT_EQ(fallen.effects[0].attribute + " " + fallen.effects[0].name, "fleet since the session before");
  EXPECT_TRUE(fallen.effects[0].nodes.empty());
  EXPECT_NEAR(*fallen.effects[0].shift, -0.1, 1e-9);
  EXPECT_EQ(fallen.word, Outcome::inconclusive) << fallen.sentence;
  EXPECT_TRUE(fallen.outliers.empty());
  EXPECT_TRUE(fleet(1.1, 20).effects.empty());   // better is no fault
  EXPECT_TRUE(fleet(0.97, 20).effects.empty());  // less than delta
  EXPECT_TRUE(fleet(0.9, 10).effects.empty());   // no more than half were there before
}

TEST(FleetSessions, WarningsOfNodesAreReportedByWordAndCode) {
  for (const auto& [said, word, code] : {std::tuple{Outcome::fail, Outcome::fail, 10},
                                         {Outcome::error, Outcome::error, 1},
                                         {Outcome::inconclusive, Outcome::inconclusive, 11},
                                         {Outcome::skipped, Outcome::incomplete, 12},
                                         {Outcome::pass, Outcome::pass, 0}}) {
    Runs runs = passing_nodes();
    runs.add(judged_run(30, said));
    const Fleet fleet = runs.judged();
    EXPECT_EQ(fleet.word, word) << fleet.sentence;
    EXPECT_EQ(fleet.exit_code, code);
    EXPECT_EQ(fleet.saying(said), said == Outcome::pass ? 21u : 1u);
  }
  for (const auto& [said, word] :
       {std::pair{Outcome::interrupted, Outcome::incomplete}, {Outcome::error, Outcome::error}}) {
    Runs runs = passing_nodes();
    StoredRun ended = judged_run(30, Outcome::pass);  // what it had measured until then was enough
    ended.summary.word = said;
    runs.add(ended);
    EXPECT_EQ(runs.judged().word, word);
  }
}

TEST(FleetSessions, NodesThatAllCouldNotReportAreNoPass) {
  for (const Outcome said : {Outcome::inconclusive, Outcome::error, Outcome::interrupted}) {
    Runs runs;
    for (int i = 1; i <= 12; ++i) {
      StoredRun run = run_of(i, {1e9});
      run.summary.word = said;
      runs.add(run);
    }
    const Fleet fleet = runs.judged();
    EXPECT_NE(fleet.word, Outcome::pass);
    EXPECT_NE(fleet.exit_code, 0);
    EXPECT_EQ(fleet.sentence.find("no node differs"), std::string::npos) << fleet.sentence;
  }
}

TEST(FleetSessions, OneNodeThatMeetsItsNeedsPasses) {
  Runs runs;
  runs.add(judged_run(1, Outcome::pass));
  EXPECT_EQ(runs.judged().word, Outcome::pass);
}

TEST(FleetSessions, ANodeWithoutNeedsAmongNodesWithNeedsIsNotOk) {
  Runs runs = passing_nodes();
  runs.add(run_of(30, {1e9}));
  const Fleet fleet = runs.judged();
  EXPECT_EQ(fleet.word, Outcome::incomplete);
  EXPECT_EQ(fleet.exit_code, 12);
  EXPECT_NE(fleet.sentence.find("1 node had no needs to judge"), std::string::npos) << fleet.sentence;
}

TEST(FleetSessions, ANewerRunHidesNoNeedThatItDidNotDecide) {
  const auto word = [](const std::vector<StoredRun>& newer) {
    Runs runs = passing_nodes();
    runs.add(judged_run(30, Outcome::fail));
    for (const StoredRun& run : newer) runs.add(run);
    return runs.judged().word;
  };
  EXPECT_EQ(word({}), Outcome::fail);
  EXPECT_EQ(word({run_of(30, {1e9}, "3")}), Outcome::fail);  // asked for nothing
  EXPECT_EQ(word({judged_run(30, Outcome::pass, "3", "network.busbw")}), Outcome::fail);
  EXPECT_EQ(word({judged_run(30, Outcome::skipped, "3")}), Outcome::fail);
  EXPECT_EQ(word({judged_run(30, Outcome::pass, "3")}), Outcome::pass);
  // What could not be decided afterwards takes no FAIL back, unless the need was met in between.
  EXPECT_EQ(word({judged_run(30, Outcome::inconclusive, "3")}), Outcome::fail);
  EXPECT_EQ(word({judged_run(30, Outcome::pass, "3"), judged_run(30, Outcome::inconclusive, "4")}),
            Outcome::inconclusive);
}

TEST(FleetSessions, AnErrorStaysUntilItsConfigurationPassed) {
  const auto word = [](const std::string& config) {
    Runs runs = passing_nodes();
    StoredRun failed = judged_run(30, Outcome::pass, "1");
    failed.summary.word = Outcome::error;
    failed.config_file = "network.yaml";
    StoredRun newer = judged_run(30, Outcome::pass, "3");
    newer.config_file = config;
    runs.add(failed);
    runs.add(newer);
    return runs.judged().word;
  };
  EXPECT_EQ(word("node.yaml"), Outcome::error);
  EXPECT_EQ(word("network.yaml"), Outcome::pass);
}

TEST(FleetSessions, APartOfTheNodesMeasuredAgainHidesNothingElse) {
  Runs runs;
  for (int i = 1; i <= 20; ++i) runs.add(run_of(i, {1e9, 2e9}));
  StoredRun part = run_of(20, {1e9}, "3");  // --only w0
  runs.add(part);
  const Fleet fleet = runs.judged();
  EXPECT_TRUE(fleet.missing.empty());
  EXPECT_EQ(*fleet.nodes[19].values[1], 2e9);
  EXPECT_EQ(fleet.word, Outcome::measured);
}

TEST(FleetSessions, UnprovenAndDisturbedValuesCountForNothing) {
  for (const auto& [unproven, disturbed, left_out] :
       {std::tuple{0.2, 0.0, true}, {0.0, 0.34, true}, {0.0, 1.0 / 3, false}}) {
    Runs runs;
    runs.usual(20);
    StoredRun fast = run_of(30, {7e8});
    fast.points[0].cache_unproven_share = unproven;
    fast.points[0].disturbed_share = disturbed;
    runs.add(fast);
    const Fleet fleet = runs.judged();
    EXPECT_EQ(fleet.outliers.empty(), left_out);
    EXPECT_EQ(fleet.missing.size(), left_out ? 1u : 0u);
    EXPECT_EQ(fleet.exit_code, left_out ? 12 : 11) << fleet.sentence;
    if (left_out) {
      EXPECT_NE(fleet.missing[0].why.find(unproven > 0 ? "cache-unproven" : "disturbed"), std::string::npos);
    }
    runs.add(run_of(30, {1e9}, "1"));  // the run before is taken for it
    EXPECT_TRUE(runs.judged().missing.empty());
  }
}

TEST(FleetSessions, UnitsAreConvertedOrKeptApart) {
  Runs runs;
  runs.usual(20);
  StoredRun giga = run_of(30, {1.0});
  giga.points[0].metrics[0].unit = "GB/s";
  runs.add(giga);
  Fleet fleet = runs.judged();
  EXPECT_TRUE(fleet.outliers.empty());
  EXPECT_EQ(*fleet.nodes.back().values[0], 1e9);
  StoredRun other = run_of(31, {1.0});
  other.points[0].metrics[0].unit = "1/s";
  runs.add(other);
  fleet = runs.judged();
  EXPECT_EQ(fleet.metrics.size(), 2u);
  EXPECT_TRUE(fleet.outliers.empty());
  EXPECT_EQ(fleet.word, Outcome::incomplete);  // it has no value in B/s
}

/// Eight racks of eight; those that `slow` names are 8 % slow in the sessions given.
Runs racks(const std::string& sessions, double again = 0.92) {
  Runs runs;
  Draws draws(3);
  for (int i = 1; i <= 64; ++i) {
    const std::string rack = "r" + std::to_string((i - 1) / 8);
    runs.options.hosts.push_back(host_of(i, rack));
    for (const char session : sessions) {
      const double factor = rack != "r3" ? 1 : session == '2' ? 0.92 : again;
      runs.add(run_of(i, {1e9 * (1 + 0.01 * normal(draws)) * factor}, std::string(1, session)));
    }
  }
  return runs;
}

/// Another session says something of a link only where it measured both of its ends.
TEST(FleetSessions, ALinkIsComparedWithSessionsThatHaveBothItsEnds) {
  const auto link = [](bool older_has_both) {
    Runs runs;
    for (const bool newest : {true, false}) {
      std::vector<std::string> names{"n1", "n2", "n3"};
      if (newest || older_has_both) names.push_back("n4");
      PairMatrix m(names);
      for (std::size_t a = 0; a < names.size(); ++a)
        for (std::size_t b = 0; b < names.size(); ++b)
          if (a != b) m.rate[a][b] = 1;
      if (newest) m.rate[0][3] = 0.4;
      StoredRun run = run_of(1, {1e9}, newest ? "2" : "1");
      run.points[0].pairs = m;
      runs.add(run);
    }
    const Fleet fleet = runs.judged();
    for (const JudgedPairs& pairs : fleet.pairs)
      for (const auto& [finding, status] : pairs.findings)
        if (finding.subject.find("n4") != std::string::npos) return status;
    throw std::runtime_error("the link was not found");
  };
  EXPECT_EQ(link(false), Status::suspected);
  EXPECT_EQ(link(true), Status::passing);
}

TEST(FleetSessions, ARackNeedsASecondSession) {
  const Fleet once = racks("2").judged();
  ASSERT_EQ(once.effects.size(), 1u);
  EXPECT_EQ(once.effects[0].status, Status::suspected);
  EXPECT_EQ(once.exit_code, 11);
  EXPECT_NE(once.sentence.find("1 shift that nodes share, suspected"), std::string::npos);
  const Fleet twice = racks("21").judged();
  ASSERT_EQ(twice.effects.size(), 1u);
  EXPECT_EQ(twice.effects[0].status, Status::confirmed);
  EXPECT_EQ(twice.effects[0].name, "r3");
  EXPECT_EQ(twice.exit_code, 10);
  const Fleet passing = racks("21", 1.0).judged();
  ASSERT_EQ(passing.effects.size(), 1u);
  EXPECT_EQ(passing.effects[0].status, Status::passing);
  EXPECT_TRUE(passing.outliers.empty());
  EXPECT_EQ(passing.word, Outcome::measured);
}

TEST(FleetSessions, ThreeNodesOfARackMeasuredAgainAreEnoughAndTwoAreNot) {
  for (const int again : {2, 3}) {
    Runs runs = racks("2");
    for (int i = 25; i < 25 + again; ++i) runs.add(run_of(i, {9.2e8}, "1"));
    EXPECT_EQ(runs.judged().effects.at(0).status, again == 3 ? Status::confirmed : Status::suspected);
  }
}

}  // namespace
}  // namespace headrace::fleet::fleet_sessions_test
