// What nodes of a bring-up measured by themselves and together, compared with each other.
#include <gtest/gtest.h>

#include "harness/base/diagnostics.h"
#include "harness/bringup/blame/judge_groups.h"
#include "harness/bringup/blame/slower_groups.h"
#include "harness/bringup/hand_over.h"
#include "harness/bringup/tests/judge_tests.h"
#include "harness/judge/verdict/part_faults.h"

namespace headrace::bringup::bringup_nodes_test {
namespace {

using results::StoredPoint;
using results::StoredRun;

constexpr unsigned kNodes = 12;

/// All within a hundredth of 1000 B/s.
NodeTests healthy(const char* when) {
  NodeTests tests;
  tests.started_utc = when;
  tests.took_s = 10;
  tests.metrics.push_back(
      {"memory_copy", "memory_copy", "copy_bandwidth", "B/s", "", {{"workers", "4"}}, Better::higher});
  for (unsigned node = 0; node < kNodes; ++node)
    tests.nodes.push_back({node, {1000 + 2.0 * (node * 7 % kNodes)}, 0, {}});
  return tests;
}

NodeTests with(unsigned node, double value, const char* when) {
  NodeTests tests = healthy(when);
  tests.nodes[node].values[0] = value;
  return tests;
}

constexpr const char *kFirst = "2026-01-31T12:00:00.250Z", *kAgain = "2026-01-31T12:00:20.250Z";

Record record_of(std::vector<NodeTests> tests) {
  Record record;
  record.headrace = "1";
  for (unsigned node = 0; node < kNodes; ++node) {
    NodeRecord& one = record.nodes.emplace_back();
    one.host.name = "n" + std::to_string(10 + node);
    one.host.rack = node < 4 ? "r1" : "r2";
    one.facts.emplace();
    one.facts->facts["cpu.model"] = "X";
  }
  record.sessions.push_back({kFirst, {}, {}});
  record.sessions.back().tests = std::move(tests);
  return record;
}

TEST(BringUpNodes, EqualNodesAreNotNamed) {
  const TestsJudged judged = judge_tests(record_of({healthy(kFirst)}));
  EXPECT_TRUE(judged.differences.empty() && judged.shared.empty() && judged.suspects.empty());
  EXPECT_EQ(judged.unjudged, "");
}

TEST(BringUpNodes, ASlowNodeIsSuspectedByOneTestAndNamedByTwo) {
  const TestsJudged once = judge_tests(record_of({with(3, 800, kFirst)}));
  EXPECT_EQ(once.suspects, std::vector<unsigned>{3});
  ASSERT_EQ(once.differences.size(), 1u);
  EXPECT_FALSE(once.differences[0].fault);
  const TestsJudged twice = judge_tests(record_of({with(3, 800, kFirst), with(3, 810, kAgain)}));
  EXPECT_TRUE(twice.suspects.empty());
  ASSERT_EQ(twice.differences.size(), 1u);
  EXPECT_TRUE(twice.differences[0].fault && twice.differences[0].tested);
  EXPECT_EQ(twice.differences[0].host, 3u);
  EXPECT_EQ(twice.differences[0].what, "memory_copy.copy_bandwidth");
  EXPECT_NE(twice.differences[0].reported.find("810 B/s, usual 1.01 kB/s"), std::string::npos)
      << twice.differences[0].reported;
  // Slow once, and as fast as the others then: nothing is compared with it.
  const TestsJudged passing = judge_tests(record_of({healthy(kFirst), with(3, 800, kAgain)}));
  EXPECT_TRUE(passing.suspects.empty());
  for (const Difference& one : passing.differences) EXPECT_FALSE(one.fault);
}

TEST(BringUpNodes, ALossOfAWholeRackIsTheRacks) {
  const auto slow = [](const char* when) {
    NodeTests tests = healthy(when);
    for (unsigned node = 0; node < 4; ++node) *tests.nodes[node].values[0] *= 0.8;
    return tests;
  };
  const TestsJudged judged = judge_tests(record_of({slow(kFirst), slow(kAgain)}));
  ASSERT_EQ(judged.shared.size(), 1u);
  EXPECT_EQ(judged.shared[0].title(), "rack r1");
  EXPECT_EQ(judged.shared[0].fault.scope, Finding::Scope::shared);
  for (const Difference& one : judged.differences) EXPECT_FALSE(one.fault) << one.reported;
}

TEST(BringUpNodes, ANodeWithoutACommonPartIsNamed) {
  NodeTests tests = healthy(kFirst);
  tests.nodes[5].values[0].reset();
  tests.nodes[5].without["memory_copy"] = "error: no memory";
  add_failure(tests, 6, "no result within 180 s");
  tests.nodes[6].values.clear();
  const TestsJudged judged = judge_tests(record_of({tests}));
  ASSERT_EQ(judged.differences.size(), 2u);
  EXPECT_EQ(judged.differences[0].reported, "memory_copy: error: no memory; the others measured it");
  EXPECT_EQ(judged.differences[1].reported, "node tests: no result within 180 s; the others measured it");
  EXPECT_TRUE(judged.differences[0].fault && judged.differences[1].fault);
  // A point that nobody could measure says nothing of anybody.
  NodeTests none = healthy(kFirst);
  for (TestedNode& one : none.nodes) one.without["h2d"] = "skipped: no GPU";
  EXPECT_TRUE(judge_tests(record_of({none})).differences.empty());
}

TEST(BringUpNodes, WithoutAComparisonTheReasonIsReported) {
  NodeTests few = healthy(kFirst);
  few.nodes.resize(5);
  EXPECT_EQ(judge_tests(record_of({few})).unjudged,
            "no comparison: 5 nodes of the same hardware and settings measured the same, and a median needs 8. "
            "Only faults were checked, and rates far below healthy hardware (headrace verdict RUN --expect)");
  NodeTests none;
  none.started_utc = kFirst;
  for (unsigned node = 0; node < kNodes; ++node) none.of(node).without["h2d"] = "skipped: no GPU";
  EXPECT_EQ(judge_tests(record_of({none})).unjudged, "h2d: skipped: no GPU");
}

results::StoredMetric metric(const char* name, const char* unit, std::vector<double> values, Better better) {
  results::StoredMetric one;
  one.name = name;
  one.unit = unit;
  one.better = better;
  one.median = values[values.size() / 2];
  one.values = std::move(values);
  return one;
}

/// What a node's own run reports on a GPU burn.
StoredRun burnt() {
  StoredRun run;
  StoredPoint& point = run.points.emplace_back();
  point.id = point.workload = "gpu_burn";
  point.status = "ok";
  point.repetitions = 3;
  point.metrics = {metric("flop_rate", "FLOP/s", {7e14, 7e14, 7e14}, Better::higher),
                   metric("flop_rate_gpu1", "FLOP/s", {7e14, 7e14, 7e14}, Better::higher),
                   metric("latency_p99_ns", "ns", {1e6, 1e6, 1e6}, Better::lower),
                   metric("temperature_c", "C", {60, 60, 60}, Better::neither),
                   metric("wrong_elements", "count", {0, 0, 0}, Better::lower),
                   metric("wrong_elements_gpu1", "count", {0, 0, 0}, Better::lower),
                   metric("error_count", "count", {0, 0, 0}, Better::lower)};
  return run;
}

Record record_of_runs(const std::vector<StoredRun>& runs) {
  NodeTests tests;
  tests.started_utc = kFirst;
  for (unsigned node = 0; node < runs.size(); ++node) add_run(tests, node, runs[node]);
  return record_of({tests});
}

/// One repetition of three, of one node of two: nobody needs to be compared, and no second session.
TEST(BringUpNodes, OneOccurrenceOfAFaultNamesTheNode) {
  StoredRun counted = burnt(), judged_itself = burnt();
  counted.points[0].metrics[4].values = {0, 0, 13};
  Judgement& j = judged_itself.judgements.emplace_back();
  j.id = judging::kPartFault;
  j.scope = "gpu1";
  j.outcome = Outcome::fail;
  j.explanation = "gpu1 is broken: Xid 79 (the GPU has fallen off the bus).";
  j.next_step = "drain the node";
  for (const StoredRun& bad : {counted, judged_itself}) {
    const TestsJudged judged = judge_tests(record_of_runs({burnt(), bad}));
    ASSERT_EQ(judged.differences.size(), 1u);
    EXPECT_TRUE(judged.differences[0].fault && judged.differences[0].tested);
    EXPECT_EQ(judged.differences[0].host, 1u);
    EXPECT_NE(judged.differences[0].fix, "");
    EXPECT_TRUE(judged.suspects.empty());
  }
  EXPECT_TRUE(judge_tests(record_of_runs({burnt(), burnt()})).differences.empty());
}

TEST(BringUpNodes, RatesOfEachDeviceAreComparedAndNeitherTailsNorTemperatures) {
  const Record record = record_of_runs(std::vector<StoredRun>(2, burnt()));
  std::vector<std::string> compared;
  for (const TestedMetric& one : record.sessions[0].tests[0].metrics) compared.push_back(one.metric);
  EXPECT_EQ(compared, (std::vector<std::string>{"flop_rate", "flop_rate_gpu1"}));
  EXPECT_TRUE(record.sessions[0].tests[0].metrics[0].leads);
  EXPECT_FALSE(record.sessions[0].tests[0].metrics[1].leads);
}

/// A point has many other metrics: by a tenth of one of them nobody is accused, by a third a node is.
TEST(BringUpNodes, OtherMetricsThanTheFirstAccuseByAFifth) {
  for (const auto& [factor, accused] : {std::pair(0.9, 0u), std::pair(0.6, 1u)}) {
    std::vector<NodeTests> both{healthy(kFirst), healthy(kAgain)};
    for (NodeTests& tests : both) {
      tests.metrics.push_back(tests.metrics[0]);
      tests.metrics[1].metric = "read_bandwidth";
      tests.metrics[1].leads = false;
      for (TestedNode& one : tests.nodes) one.values.push_back(one.values[0]);
      *tests.nodes[3].values[1] *= factor;
    }
    const TestsJudged judged = judge_tests(record_of(both));
    EXPECT_EQ(judged.differences.size(), accused) << factor;
    EXPECT_TRUE(judged.suspects.empty());
  }
}

/// Of fewer than eight nobody is compared: what lies far below all sound hardware is suspected once and named twice.
TEST(BringUpNodes, WithoutAComparisonExpectationsAreJudged) {
  StoredRun slow = burnt();
  slow.expected = {{"memory_copy", "copy_bandwidth", "memory", "far below", "12 % of 307 GB/s"}};
  slow.environment = {{"cpu.usable", "64"}, {"cpu.threads", "64"}};
  const auto record = [&](bool again, bool one_machine) {
    Record all = record_of_runs({burnt(), slow});
    if (again) all.sessions[0].tests.push_back(all.sessions[0].tests[0]);
    for (unsigned node = 0; node < kNodes; ++node)
      all.nodes[node].facts->machine = one_machine ? "boot 4026531" : "boot" + std::to_string(node) + " 4026531";
    return judge_tests(all);
  };
  EXPECT_EQ(record(false, false).suspects, std::vector<unsigned>{1});
  EXPECT_TRUE(record(false, false).differences.empty());
  const TestsJudged twice = record(true, false);
  ASSERT_EQ(twice.differences.size(), 1u);
  EXPECT_EQ(twice.differences[0].host, 1u);
  EXPECT_EQ(twice.differences[0].reported, "memory_copy.copy_bandwidth: 12 % of 307 GB/s");
  EXPECT_TRUE(record(true, true).differences.empty()) << "containers share what the machine gives";
  slow.environment["cpu.usable"] = "4";
  EXPECT_TRUE(record(true, false).differences.empty()) << "4 of 64 processors use a part of the memory";
}

TEST(BringUpNodes, FaultsAndExpectationsAreStoredAndReadBack) {
  StoredRun bad = burnt();
  bad.points[0].metrics[4].values = {0, 0, 13};
  bad.expected = {{"h2d", "bandwidth_gpu0", "gpu_link", "far below", "40 % of 63 GB/s"}};
  Record record = record_of_runs({burnt(), bad});
  const Record again = record_from(record_json(record), "bringup.json");
  const NodeTests &before = record.sessions[0].tests[0], &after = again.sessions[0].tests[0];
  EXPECT_EQ(after.nodes[1].faults.at(0).reported, before.nodes[1].faults.at(0).reported);
  EXPECT_EQ(after.nodes[1].far_below, before.nodes[1].far_below);
  EXPECT_FALSE(after.metrics[1].leads);
  EXPECT_TRUE(after.nodes[0].faults.empty() && after.nodes[0].far_below.empty());
}

TEST(BringUpNodes, NodeTestsBeforeARepairCountNoMore) {
  Record record = record_of({with(3, 800, kFirst), with(3, 810, kAgain)});
  record.sessions.push_back({"2026-02-01T12:00:00.000Z", {3}, {}});
  NodeTests after = healthy("2026-02-01T12:00:00.000Z");
  after.nodes = {after.nodes[3], after.nodes[4]};
  record.sessions.back().tests = {after};
  for (const Difference& one : judge_tests(record).differences) EXPECT_FALSE(one.fault) << one.reported;
}

/// Groups of four nodes that reached this [B/s] in a point, and this latency [s] in another one.
std::vector<GroupRun> groups_that(std::vector<double> rates, std::vector<double> latencies, bool again) {
  std::vector<GroupRun> groups;
  for (unsigned g = 0; g < rates.size(); ++g)
    groups.push_back({"collectives",
                      {4 * g, 4 * g + 1, 4 * g + 2, 4 * g + 3},
                      1,
                      "",
                      {{"all_reduce", "busbw", "B/s", rates[g], Better::higher, rates[g] * 1.01},
                       {"barrier", "latency", "s", latencies[g], Better::lower, latencies[g] * 0.99}},
                      {},
                      again});
  return groups;
}

std::vector<std::string> describe(const Record& record) {
  std::vector<std::string> all;
  for (const NamedFault& one : judge_groups(record).faults) all.push_back(one.title() + ": " + one.text);
  return all;
}

TEST(BringUpNodes, AGroupThatIsTwiceSlowerThanTheOthersIsNamed) {
  const std::vector<double> even{1e-5, 1e-5, 1e-5};
  Record record = record_of({});
  record.usual_rate = {100};
  record.sessions[0].rounds = {{1, {{8, 9, 0, {99, 98}, {}}, {10, 11, 0, {90, 97}, {}}, {0, 4, 0, {50, 50}, {}}}, {}}};
  auto& groups = record.sessions[0].groups;
  groups = groups_that({1000, 1005, 900}, even, false);
  EXPECT_TRUE(describe(record).empty());  // once may be chance
  for (const GroupRun& one : groups_that({1000, 1000, 905}, even, true)) groups.push_back(one);
  EXPECT_EQ(
      describe(record),
      std::vector<std::string>{"group n[18-21]: all_reduce 905 B/s, and 900 B/s before, usually 1.00 kB/s (2 other "
                               "groups of 4 nodes); its pairs "
                               "alone: 2 measured, 94 % of the usual rate in the middle, 90 % at least (n20 to n21)"});
  groups = groups_that({1000, 1005, 900}, even, false);
  for (const GroupRun& one : groups_that({900, 1000, 1000}, even, true)) groups.push_back(one);
  EXPECT_TRUE(describe(record).empty());  // each of two once
  groups = groups_that({1000, 1000, 1000}, {1e-5, 2e-5, 1e-5}, false);
  for (const GroupRun& one : groups_that({1000, 1000, 1000}, {1e-5, 2e-5, 1e-5}, true)) groups.push_back(one);
  ASSERT_EQ(describe(record).size(), 1u);
  EXPECT_EQ(describe(record)[0].find("group n[14-17]: barrier 20.0 µs, and 20.0 µs before"), 0u) << describe(record)[0];
}

TEST(BringUpNodes, GroupsAreSlowerByMoreThanDeltaAndNoise) {
  const std::vector<double> even{1, 1, 1, 1};
  EXPECT_EQ(slower_groups(groups_that({1000, 1000, 1000, 900}, even, false)).size(), 1u);
  EXPECT_TRUE(slower_groups(groups_that({1000, 1000, 1000, 955}, even, false)).empty());  // less than delta
  EXPECT_TRUE(slower_groups(groups_that({1000, 940, 1060, 900}, even, false)).empty());   // the others differ as much
  EXPECT_TRUE(slower_groups(groups_that({1000, 1000, 1000, 1200}, even, false)).empty());
  auto some = groups_that({1000, 1000, 1000, 900}, even, false);
  some[3].values[0].best = 990;  // and so do its repetitions
  EXPECT_TRUE(slower_groups(some).empty());
  some = groups_that({1000, 1000, 900}, even, false);
  some[0].nodes.pop_back();  // two of one size: who is right?
  EXPECT_TRUE(slower_groups(some).empty());
  EXPECT_FALSE(comparable(some));
  EXPECT_TRUE(comparable(groups_that({1, 1, 1}, even, false)));
}

TEST(BringUpNodes, ARecordKeepsMeasurements) {
  Record record = record_of({with(3, 800, kFirst)});
  record.sessions[0].tests[0].nodes[5].values[0].reset();
  record.sessions[0].tests[0].nodes[5].without["memory_copy"] = "error: no memory";
  record.sessions[0].groups.push_back(
      {"collectives", {0, 1}, 2, "node 1 died", {{"a", "b", "B/s", 1, Better::higher, 2}}, {}});
  const std::string text = record_json(record);
  EXPECT_EQ(record_json(record_from(text, "x.json")), text);
  EXPECT_EQ(judge_tests(record_from(text, "x.json")).suspects, std::vector<unsigned>{3});
}

TEST(BringUpNodes, AGroupThatFailsAndStorageThatIsTooSlowAreNamed) {
  Record record = record_of({});
  auto& groups = record.sessions[0].groups;
  groups.push_back({"collectives", {0, 1, 2}, 2, "", {{"mpi_all_reduce", "busbw", "B/s", 1e9}}, {}});
  EXPECT_TRUE(judge_groups(record).faults.empty());
  groups.push_back({"collectives", {3, 4, 5}, 2, "mpirun lost n14", {}, {}});
  record.measuring.at = "/data";
  groups.push_back({"storage load", {0, 1}, 9, "", {}, {}});
  groups.back().phases.push_back({"ingest", "Reading", "B/s", "FAIL", "Gives 1; needs 2.", "", 2, 1, 2, 4});
  groups.back().phases.push_back({"save", "Saving", "B/s", "PASS", "", "", 2, 1, 2, 1});
  const GroupsJudged judged = judge_groups(record);
  ASSERT_EQ(judged.faults.size(), 2u);
  EXPECT_EQ(judged.faults[0].title(), "group n[13-15]");
  EXPECT_EQ(judged.faults[1].title(), "storage /data");
  EXPECT_EQ(judged.faults[1].text, "Reading, 2 nodes at once: Gives 1; needs 2.");
  EXPECT_FALSE(judged.undecided);
  groups.back().phases[1].outcome = "INCONCLUSIVE";
  EXPECT_TRUE(judge_groups(record).undecided);
}

TEST(BringUpNodes, AFailureOnAllNodesIsAFaultAndSuccessesAreKept) {
  Record record = record_of({});
  auto& groups = record.sessions[0].groups;
  groups.push_back(
      {"collectives", {0, 1}, 2, "mpi_all_to_all: TIMEOUT", {{"mpi_all_reduce", "busbw", "B/s", 1e9}}, {}});
  groups.push_back({"storage load", {0, 1}, 2, "mpirun lost n10", {}, {}});
  const GroupsJudged judged = judge_groups(record);
  ASSERT_EQ(judged.faults.size(), 2u);
  for (const NamedFault& one : judged.faults) {
    EXPECT_EQ(one.title(), "group n[10-11]");
    EXPECT_NE(one.fix.find("no group worked"), std::string::npos) << one.fix;
  }
  EXPECT_EQ(judged.faults[0].text, "collectives: mpi_all_to_all: TIMEOUT");
  EXPECT_EQ(judged.faults[1].text, "storage load: mpirun lost n10");
  groups.push_back({"collectives", {2, 3}, 2, "", {{"mpi_all_reduce", "busbw", "B/s", 1e9}}, {}});
  EXPECT_NE(judge_groups(record).faults[0].fix.find("the other groups worked"), std::string::npos);
}

TEST(BringUpNodes, ANodeThatIsLeftOutIsNamedOnce) {
  Record record = record_of({});
  auto& groups = record.sessions[0].groups;
  groups.push_back({"collectives", {2}, 0, "cannot write /tmp/x: No space left on device", {}, {}});
  groups.push_back({"storage load", {2}, 0, "cannot write /tmp/x: No space left on device", {}, {}});
  const GroupsJudged judged = judge_groups(record);
  ASSERT_EQ(judged.faults.size(), 1u);
  EXPECT_EQ(judged.faults[0].title(), "node n12");
  EXPECT_TRUE(judged.faults[0].of_node(2));
  EXPECT_EQ(judged.faults[0].text,
            "cannot take part in collectives: cannot write /tmp/x: No space left on device; "
            "cannot take part in storage load: cannot write /tmp/x: No space left on device");
}

}  // namespace
}  // namespace headrace::bringup::bringup_nodes_test
