// Many nodes: outliers and their confirmation, group effects, missing nodes, pairs; and how often
// it is wrong, by simulation.
#include "harness/fleet/fleet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/fleet/state.h"
#include "harness/results/skip_members.h"
#include "harness/statistics/draws.h"
#include "harness/statistics/summary.h"
#include "tests/unit/source_dir.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::fleet {
namespace {

using results::StoredMetric;
using results::StoredPoint;
using results::StoredRun;
using statistics::Draws;

/// Standard normal, by the sum of twelve.
double normal(Draws& draws) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += draws.share();
  return sum;
}

std::string name_of(int node) { return (node < 10 ? "node0" : "node") + std::to_string(node); }

StoredRun run_of(int node, const std::vector<double>& values, const std::string& day = "2") {
  StoredRun run;
  run.id = "run-" + std::to_string(node) + "-" + day;
  run.node = name_of(node);
  run.path = run.id + "/run.json";
  run.started_utc = "2026-03-0" + day + "T12:00:00Z";
  run.config_file = "node.yaml";
  run.version = "0.1.0";
  run.summary.word = "MEASURED";
  run.environment = {{"cpu.model", "EPYC"},
                     {"device.firmware", "1.3"},
                     {"memory.total", "251.4 GiB"},
                     {"host.name", run.node}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    StoredPoint p;
    p.id = p.workload = "w" + std::to_string(i);
    StoredMetric m;
    m.name = "bandwidth";
    m.unit = "B/s";
    m.values = {values[i]};
    m.median = m.low = m.high = values[i];
    p.metrics.push_back(m);
    run.points.push_back(p);
  }
  return run;
}

class Runs {
 public:
  Collector collector{comparison::Options{}};
  Options options;

  void add(const StoredRun& run) { collector.add(run, {}); }
  /// `count` like nodes around 1 GB/s.
  void usual(int count, std::uint64_t seed = 1) {
    Draws draws(seed);
    for (int i = 1; i <= count; ++i) add(run_of(i, {1e9 * (1 + 0.01 * normal(draws))}));
  }
  Fleet judged() { return judge(collector, {}, options); }
};

TEST(Fleet, NothingStandsOutAmongAlike) {
  Runs runs;
  runs.usual(64);
  const Fleet fleet = runs.judged();
  EXPECT_EQ(fleet.word, "PASS") << fleet.sentence;
  EXPECT_EQ(fleet.exit_code, 0);
  EXPECT_EQ(fleet.judged, 64u);
  ASSERT_EQ(fleet.limits.size(), 1u);
  EXPECT_NEAR(fleet.limits[0].usual.median, 1e9, 5e6);
}

TEST(Fleet, AnOutlierIsSuspectedConfirmedOrPassing) {
  for (const auto& [again, status, word] : {std::tuple{0.0, Status::suspected, "INCONCLUSIVE"},
                                            {7.6e8, Status::confirmed, "FAIL"},
                                            {1.0e9, Status::passing, "PASS"}}) {
    Runs runs;
    runs.usual(20);
    runs.add(run_of(40, {7.5e8}));
    if (again > 0) runs.add(run_of(40, {again}, "1"));
    const Fleet fleet = runs.judged();
    ASSERT_EQ(fleet.outliers.size(), 1u);
    const Outlier& one = fleet.outliers[0];
    EXPECT_EQ(fleet.nodes[one.node].name, "node40");
    EXPECT_EQ(one.status, status);
    EXPECT_NEAR(one.deviation, -0.25, 0.01);
    EXPECT_LT(one.z, -3.5);
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
  EXPECT_FALSE(fleet.groups[1].judged);  // under 8: needs only
  ASSERT_EQ(fleet.groups[1].differs.size(), 1u);
  EXPECT_EQ(fleet.groups[1].differs[0].key, "device.firmware");
  EXPECT_EQ(fleet.groups[1].differs[0].usual, "1.3");
  EXPECT_TRUE(fleet.outliers.empty());
  EXPECT_EQ(fleet.judged, 21u);
  EXPECT_EQ(fleet.word, "INCOMPLETE");  // four were judged by nothing
  EXPECT_EQ(fleet.exit_code, 12);
}

TEST(Fleet, ARackIsOneFinding) {
  Runs runs;
  Draws draws(3);
  for (int i = 1; i <= 40; ++i) {
    const int rack = (i - 1) / 8;
    runs.options.hosts.push_back({name_of(i), {{"rack", "r" + std::to_string(rack)}}});
    double value = 1e9 * (1 + 0.01 * normal(draws));
    if (rack == 3) value *= 0.92;
    if (i == 30) value *= 0.8;  // and one of them is bad by itself
    runs.add(run_of(i, {value}));
  }
  const Fleet fleet = runs.judged();
  ASSERT_EQ(fleet.effects.size(), 1u);
  EXPECT_EQ(fleet.effects[0].name, "r3");
  EXPECT_EQ(fleet.effects[0].nodes.size(), 8u);
  EXPECT_NEAR(fleet.effects[0].shift, -0.08, 0.02);
  ASSERT_EQ(fleet.outliers.size(), 1u);  // none of the other seven
  EXPECT_EQ(fleet.nodes[fleet.outliers[0].node].name, "node30");
  EXPECT_EQ(fleet.word, "FAIL");
}

TEST(Fleet, TwoBadNodesAreNoRack) {
  Runs runs;
  Draws draws(5);
  for (int i = 1; i <= 32; ++i) {
    runs.options.hosts.push_back({name_of(i), {{"rack", "r" + std::to_string((i - 1) / 4)}}});
    runs.add(run_of(i, {1e9 * (1 + 0.01 * normal(draws)) * (i <= 2 ? 0.8 : 1)}));
  }
  const Fleet fleet = runs.judged();
  EXPECT_TRUE(fleet.effects.empty());
  EXPECT_EQ(fleet.outliers.size(), 2u);
}

TEST(Fleet, MissingNodesMakeItIncomplete) {
  Runs runs;
  runs.usual(10);
  for (int i = 1; i <= 12; ++i) runs.options.hosts.push_back({name_of(i), {}});
  const Fleet fleet = runs.judged();
  EXPECT_EQ(fleet.word, "INCOMPLETE");
  EXPECT_EQ(fleet.exit_code, 12);
  EXPECT_EQ(fleet.expected, 12u);
  EXPECT_EQ(fleet.reported, 10u);
  ASSERT_EQ(fleet.missing.size(), 2u);
  EXPECT_EQ(fleet.missing[1].node, "node12");
  EXPECT_NE(fleet.sentence.find("10 judged of 12"), std::string::npos);
}

TEST(Fleet, AValueThatMostHaveIsMissed) {
  Runs runs;
  for (int i = 1; i <= 10; ++i)
    runs.add(run_of(i, i == 4 ? std::vector<double>{1e9} : std::vector<double>{1e9, 2e9}));
  const Fleet fleet = runs.judged();
  ASSERT_EQ(fleet.missing.size(), 1u);
  EXPECT_EQ(fleet.missing[0].node, "node04");
  EXPECT_NE(fleet.missing[0].why.find("w1.bandwidth"), std::string::npos);
}

TEST(Fleet, PairsBlameANodeOrALink) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  PairMatrix m;
  m.metric = "bandwidth";
  m.unit = "B/s";
  const int n = 8;
  for (int i = 0; i < n; ++i) {
    m.nodes.push_back(name_of(i + 1));
    m.values.emplace_back();
    for (int j = 0; j < n; ++j)
      m.values[i].push_back(i == j ? nan : 50e9 * (1 + 0.001 * ((i * j) % 5)));
  }
  EXPECT_TRUE(judge_pairs(m).blamed.empty());
  for (int j = 0; j < n; ++j)
    if (j != 2) m.values[2][j] = m.values[j][2] = 20e9;
  m.values[5][6] = 30e9;
  const JudgedPairs judged = judge_pairs(m);
  ASSERT_EQ(judged.blamed.size(), 1u);
  EXPECT_EQ(judged.blamed[0].node, "node03");
  EXPECT_EQ(judged.blamed[0].slow, 7u);
  ASSERT_EQ(judged.links.size(), 1u);  // one slow direction blames nobody
  EXPECT_EQ(judged.links[0].from, "node06");
  EXPECT_EQ(judged.links[0].to, "node07");
}

TEST(Fleet, HostsFilesAreReadStrictly) {
  const headrace::testing::TemporaryFolder folder;
  folder.write("hosts", "# all\nnode01 rack=r1 switch=s1\n\nnode02 rack=r1 # later\n");
  const auto hosts = read_hosts(folder / "hosts");
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].attributes.at("switch"), "s1");
  folder.write("bad", "node01\nnode01\nnode02 rack\n");
  try {
    read_hosts(folder / "bad");
    FAIL();
  } catch (const UsageError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("bad:2: a second line for node01"), std::string::npos) << text;
    EXPECT_NE(text.find("bad:3: 'rack' is no key=value"), std::string::npos) << text;
  }
  EXPECT_THROW(read_hosts(folder / "none"), UsageError);
}

TEST(Fleet, ReadsRunFilesWithoutTheirRepetitions) {
  Collector collector{comparison::Options{}};
  collect(source_dir() + "/tests/golden/run.json", collector);
  const Fleet fleet = judge(collector, {}, {});
  ASSERT_EQ(fleet.nodes.size(), 1u);
  EXPECT_EQ(fleet.nodes[0].name, "node17");
  EXPECT_EQ(fleet.needs_failed, 1u);
  EXPECT_EQ(*fleet.nodes[0].values[0], 9.1e8);
}

TEST(Fleet, PairsAreReadFromPoints) {
  const headrace::testing::TemporaryFolder folder;
  auto document =
      nlohmann::json::parse(results::file_text(source_dir() + "/tests/golden/run.json"));
  document["points"][0]["pairs"] = {{{"metric", "bandwidth"},
                                     {"unit", "B/s"},
                                     {"nodes", {"a", "b"}},
                                     {"values", {{nullptr, 1e9}, {2e9, nullptr}}}}};
  folder.write("run.json", document.dump());
  Collector collector{comparison::Options{}};
  collect(folder / "run.json", collector);
  const Fleet fleet = judge(collector, {}, {});
  ASSERT_EQ(fleet.pairs.size(), 1u);
  EXPECT_EQ(fleet.pairs[0].matrix.values[1][0], 2e9);
  EXPECT_TRUE(std::isnan(fleet.pairs[0].matrix.values[0][0]));
  document["points"][0]["pairs"][0]["values"][0] = {1e9};
  folder.write("run.json", document.dump());
  EXPECT_THROW(collect(folder / "run.json", collector), UsageError);
}

TEST(Fleet, NoiseIsThatOfTheNodesThatToldTheirs) {
  Runs quiet;
  quiet.usual(10);
  EXPECT_FALSE(nlohmann::json::parse(fleet_json(quiet.judged())).contains("noise_floor"));

  Runs runs;
  runs.usual(10);
  const headrace::testing::TemporaryFolder folder;
  auto document =
      nlohmann::json::parse(results::file_text(source_dir() + "/tests/golden/run.json"));
  for (int node = 1; node <= 3; ++node) {
    document["run"]["node"] = name_of(20 + node);
    document["noise_floor"] = {
        {"source", "aa.json"}, {"median", 0.01 * node}, {"false_alarm_rate", 0.001 * node}};
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
  EXPECT_EQ(skipped(R"({"a": 1, "x": [1, {"y": "]}\""}], "b": "x"})"),
            R"({"a": 1, "x": null, "b": "x"})");
  EXPECT_EQ(skipped(R"({"x": "a\\", "b": {"x" : 12}})"), R"({"x": null, "b": {"x" : null}})");
  EXPECT_EQ(skipped(R"({"x": {}})"), R"({"x": null})");
  EXPECT_EQ(skipped(R"(["x", "x"])"), R"(["x", "x"])");
  EXPECT_EQ(skipped(R"({"x": [1, 2)"), R"({"x": [1, 2)");  // ends in the middle: the parser tells
  EXPECT_EQ(skipped(R"({"a": "x)"), R"({"a": "x)");
}

/// 64 nodes and 12 metrics; each node differs by 1.5 %, and 2 % of the values are a passing glitch
/// of 15 %. `bad` nodes are 12 % slow in one metric, always.
struct Simulated {
  std::size_t flagged = 0, confirmed = 0, found = 0;
};

Simulated simulate(int fleets, int bad) {
  Simulated sum;
  for (int f = 0; f < fleets; ++f) {
    Draws draws(static_cast<std::uint64_t>(1000 + f));
    Runs runs;
    for (int node = 1; node <= 64; ++node) {
      std::vector<double> first, again;
      for (int metric = 0; metric < 12; ++metric) {
        const double own =
            1e9 * (1 + 0.015 * normal(draws)) * (node <= bad && metric == 0 ? 0.88 : 1);
        const auto once = [&] {
          return own * (1 + 0.004 * normal(draws)) * (draws.share() < 0.02 ? 0.85 : 1);
        };
        first.push_back(once());
        again.push_back(once());
      }
      runs.add(run_of(node, first, "2"));
      runs.add(run_of(node, again, "1"));
    }
    const Fleet fleet = runs.judged();
    sum.flagged += fleet.outliers.size();
    for (const Outlier& one : fleet.outliers) {
      if (one.status != Status::confirmed) continue;
      const bool is_bad = fleet.nodes[one.node].name <= name_of(bad) && one.metric == 0;
      ++(is_bad ? sum.found : sum.confirmed);
    }
  }
  return sum;
}

TEST(FleetSimulation, TheSecondRunTakesTheFalseFlagsAway) {
  const int fleets = 40;
  const Simulated s = simulate(fleets, 0);
  // About 15 glitches of each fleet are flagged; the second run leaves less than one.
  EXPECT_GT(s.flagged, 10u * fleets);
  EXPECT_LT(static_cast<double>(s.confirmed) / fleets, 0.8);
}

TEST(FleetSimulation, TrulySlowNodesAreFound) {
  const int fleets = 40;
  const Simulated s = simulate(fleets, 3);
  EXPECT_GE(static_cast<double>(s.found) / (3 * fleets), 0.9);
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
}  // namespace headrace::fleet
