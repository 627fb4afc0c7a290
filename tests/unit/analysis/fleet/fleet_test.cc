// Many nodes: outliers and their confirmation, groups, missing nodes, files.
#include "harness/analysis/fleet/fleet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/file_text.h"
#include "harness/judge/statistics/summary.h"
#include "harness/results/skip_members.h"
#include "tests/unit/fleet_runs.h"
#include "tests/unit/source_dir.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::fleet::fleet_test {
namespace {

TEST(Fleet, EqualNodesHaveNoOutlier) {
  Runs runs;
  runs.usual(64);
  const Fleet fleet = runs.judged();
  EXPECT_EQ(fleet.word, Outcome::measured) << fleet.sentence;  // nobody asked for needs
  EXPECT_EQ(fleet.exit_code, 0);
  EXPECT_EQ(fleet.judged, 64u);
  EXPECT_NE(fleet.sentence.find("no node differs; no node had needs to judge"), std::string::npos);
  ASSERT_EQ(fleet.limits.size(), 1u);
  EXPECT_NEAR(fleet.limits[0].usual.median, 1e9, 5e6);
}

TEST(Fleet, AnOutlierIsSuspectedConfirmedOrPassing) {
  for (const auto& [again, status, word] : {std::tuple{0.0, Status::suspected, Outcome::inconclusive},
                                            {7.6e8, Status::confirmed, Outcome::fail},
                                            {1.0e9, Status::passing, Outcome::measured}}) {
    Runs runs;
    runs.usual(20);
    runs.add(run_of(40, {7.5e8}));
    if (again > 0) runs.add(run_of(40, {again}, "1"));
    const Fleet fleet = runs.judged();
    ASSERT_EQ(fleet.outliers.size(), 1u);
    const Outlier& one = fleet.outliers[0];
    EXPECT_EQ(fleet.nodes[one.node].name, "node40");
    EXPECT_EQ(one.status, status);
    EXPECT_NEAR(one.deviation.value(), -0.25, 0.01);
    EXPECT_LT(one.z.value(), -3.5);
    EXPECT_EQ(fleet.word, word) << fleet.sentence;
    EXPECT_EQ(one.again.has_value(), again > 0);
    if (status == Status::suspected) {
      EXPECT_EQ(one.next_step, "on node40: headrace run -c node.yaml --only 'w0'");
    }
  }
}

TEST(Fleet, FasterIsNoFault) {
  Runs runs;
  runs.usual(20);
  runs.add(run_of(40, {1.5e9}));
  EXPECT_TRUE(runs.judged().outliers.empty());
}

TEST(Fleet, GroupsAreHardwareAndFirmware) {
  Runs runs;
  runs.usual(20);
  for (int i = 30; i < 34; ++i) {
    StoredRun old = run_of(i, {7e8});
    old.environment["device.firmware"] = "1.2";
    runs.add(old);
  }
  StoredRun more_memory = run_of(50, {1e9});
  more_memory.environment["memory.total"] = "251.9 GiB";  // a little more is no other hardware
  runs.add(more_memory);
  const Fleet fleet = runs.judged();
  ASSERT_EQ(fleet.groups.size(), 2u);
  EXPECT_EQ(fleet.groups[0].nodes, 21u);
  EXPECT_TRUE(fleet.groups[0].judged);
  EXPECT_FALSE(fleet.groups[1].judged);
  EXPECT_EQ(
      fleet.groups[1].why,
      "only 4 nodes have this hardware and firmware; a baseline needs 8, so they are compared with their needs only");
  ASSERT_EQ(fleet.groups[1].differs.size(), 1u);
  EXPECT_EQ(fleet.groups[1].differs[0].key, "device.firmware");
  EXPECT_EQ(fleet.groups[1].differs[0].usual, "1.3");
  EXPECT_TRUE(fleet.outliers.empty());
  EXPECT_EQ(fleet.judged, 21u);
  EXPECT_EQ(fleet.word, Outcome::incomplete);  // four were judged by nothing
  EXPECT_EQ(fleet.exit_code, 12);
}

TEST(Fleet, ARackIsOneFinding) {
  Runs runs;
  Draws draws(3);
  for (int i = 1; i <= 40; ++i) {
    const int rack = (i - 1) / 8;
    runs.options.hosts.push_back(host_of(i, "r" + std::to_string(rack)));
    double value = 1e9 * (1 + 0.01 * normal(draws));
    if (rack == 3) value *= 0.92;
    if (i == 30) value *= 0.8;  // and one of them is bad by itself
    runs.add(run_of(i, {value}));
  }
  const Fleet fleet = runs.judged();
  ASSERT_EQ(fleet.effects.size(), 1u);
  EXPECT_EQ(fleet.effects[0].name, "r3");
  EXPECT_EQ(fleet.effects[0].nodes.size(), 8u);
  EXPECT_NEAR(fleet.effects[0].shift.value(), -0.08, 0.02);
  EXPECT_EQ(fleet.effects[0].status, Status::suspected);  // by one session
  ASSERT_EQ(fleet.outliers.size(), 1u);                   // none of the other seven
  EXPECT_EQ(fleet.nodes[fleet.outliers[0].node].name, "node30");
  EXPECT_EQ(fleet.word, Outcome::inconclusive);
}

TEST(Fleet, TwoBadNodesAreNoRack) {
  Runs runs;
  Draws draws(5);
  for (int i = 1; i <= 32; ++i) {
    runs.options.hosts.push_back(host_of(i, "r" + std::to_string((i - 1) / 4)));
    runs.add(run_of(i, {1e9 * (1 + 0.01 * normal(draws)) * (i <= 2 ? 0.8 : 1)}));
  }
  const Fleet fleet = runs.judged();
  EXPECT_TRUE(fleet.effects.empty());
  EXPECT_EQ(fleet.outliers.size(), 2u);
}

TEST(Fleet, MissingNodesMakeItIncomplete) {
  Runs runs;
  runs.usual(10);
  for (int i = 1; i <= 12; ++i) runs.options.hosts.push_back(host_of(i));
  const Fleet fleet = runs.judged();
  EXPECT_EQ(fleet.word, Outcome::incomplete);
  EXPECT_EQ(fleet.exit_code, 12);
  EXPECT_EQ(fleet.expected, 12u);
  EXPECT_EQ(fleet.reported, 10u);
  ASSERT_EQ(fleet.missing.size(), 2u);
  EXPECT_EQ(fleet.missing[1].node, "node12");
  EXPECT_NE(fleet.sentence.find("10 judged of 12"), std::string::npos);
}

TEST(Fleet, AValueThatMostHaveIsMissed) {
  Runs runs;
  for (int i = 1; i <= 10; ++i) runs.add(run_of(i, i == 4 ? std::vector<double>{1e9} : std::vector<double>{1e9, 2e9}));
  const Fleet fleet = runs.judged();
  ASSERT_EQ(fleet.missing.size(), 1u);
  EXPECT_EQ(fleet.missing[0].node, "node04");
  EXPECT_NE(fleet.missing[0].why.find("w1.bandwidth"), std::string::npos);
}

TEST(Fleet, ReadsRunFilesWithoutTheirRepetitions) {
  Collector collector;
  collect(source_dir() + "/tests/golden/run.json", collector);
  const Fleet fleet = judge(collector, {}, {});
  ASSERT_EQ(fleet.nodes.size(), 1u);
  EXPECT_EQ(fleet.nodes[0].name, "node17");
  EXPECT_EQ(fleet.saying(Outcome::fail), 1u);
  EXPECT_EQ(*fleet.nodes[0].values[0], 9.12e8);
}

TEST(Fleet, NoiseIsThatOfTheNodesThatReportedTheirs) {
  Runs quiet;
  quiet.usual(10);
  EXPECT_FALSE(nlohmann::json::parse(fleet_json(quiet.judged())).contains("noise_floor"));

  Runs runs;
  runs.usual(10);
  const headrace::testing::TemporaryFolder folder;
  auto document = nlohmann::json::parse(file_text(source_dir() + "/tests/golden/run.json"));
  for (int node = 1; node <= 3; ++node) {
    document["run"]["node"] = name_of(20 + node);
    document["noise_floor"] = {{"source", "aa.json"}, {"median", 0.01 * node}, {"false_alarm_rate", 0.001 * node}};
    folder.write("run.json", document.dump());
    collect(folder / "run.json", runs.collector);
  }
  const Fleet fleet = runs.judged();
  ASSERT_TRUE(fleet.noise);
  EXPECT_EQ(fleet.noise->nodes, 3u);
  EXPECT_EQ(fleet.noise->median, 0.02);
  EXPECT_EQ(fleet.noise->false_alarm_rate, 0.002);
  EXPECT_EQ(fleet.noise->highest, 0.03);
  EXPECT_EQ(fleet.noise->highest_node, "node23");
  EXPECT_EQ(nlohmann::json::parse(fleet_json(fleet))["noise_floor"]["nodes"], 3);
}

TEST(SkipMembers, LeavesTheRestAsItIs) {
  const std::string_view keys[] = {"x"};
  const auto skipped = [&](std::string_view text) { return results::skip_members(text, keys); };
  EXPECT_EQ(skipped(R"({"a": 1, "x": [1, {"y": "]}\""}], "b": "x"})"), R"({"a": 1, "x": null, "b": "x"})");
  EXPECT_EQ(skipped(R"({"x": "a\\", "b": {"x" : 12}})"), R"({"x": null, "b": {"x" : null}})");
  EXPECT_EQ(skipped(R"({"x": {}})"), R"({"x": null})");
  EXPECT_EQ(skipped(R"(["x", "x"])"), R"(["x", "x"])");
  EXPECT_EQ(skipped(R"({"x": [1, 2)"), R"({"x": [1, 2)");  // ends in the middle: the parser reports
  EXPECT_EQ(skipped(R"({"a": "x)"), R"({"a": "x)");
}

TEST(Fleet, JsonAndCsvHoldAllOfIt) {
  Runs runs;
  runs.usual(10);
  runs.add(run_of(40, {7e8}));
  const Fleet fleet = runs.judged();
  const auto json = nlohmann::json::parse(fleet_json(fleet));
  EXPECT_EQ(json["kind"], "headrace.fleet");
  EXPECT_EQ(json["outliers"][0]["status"], "suspected");
  EXPECT_EQ(json["nodes"].size(), 11u);
  EXPECT_EQ(json["limits"][0]["n"], 11u);
  const std::string csv = fleet_csv(fleet);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 12);
  EXPECT_NE(csv.find(",suspected\r\n"), std::string::npos);
}

}  // namespace
}  // namespace headrace::fleet::fleet_test
