// What many nodes share: two humps, settings, racks; and where a value becomes an outlier.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/analysis/comparison/row_words.h"
#include "tests/unit/fleet_runs.h"

namespace headrace::fleet::fleet_levels_test {
namespace {

/// That many nodes 1 % apart, of which those that `is_slow` reports have `factor` of the value.
template <class IsSlow, class Edit>
Runs nodes(int count, double factor, IsSlow is_slow, Edit edit) {
  Runs runs;
  Draws draws(7);
  for (int i = 1; i <= count; ++i) {
    StoredRun run = run_of(i, {1e9 * (1 + 0.01 * normal(draws)) * (is_slow(i) ? factor : 1)});
    edit(run, is_slow(i));
    runs.add(run);
  }
  return runs;
}

const auto every_other = [](int i) { return i % 2 == 0; };
const auto as_it_is = [](StoredRun&, bool) {};

TEST(FleetLevels, HalfOfTheNodesSlowIsReported) {
  for (const int count : {12, 64}) {
    const Fleet fleet = nodes(count, 0.8, every_other, as_it_is).judged();
    ASSERT_EQ(fleet.effects.size(), 1u) << count;
    const GroupEffect& humps = fleet.effects[0];
    EXPECT_EQ(humps.nodes.size(), static_cast<std::size_t>(count / 2));
    EXPECT_NEAR(humps.shift.value(), -0.2, 0.02);
    EXPECT_NE(humps.explanation.find(comparison::change_text(1 + *humps.shift)), std::string::npos)
        << humps.explanation;
    EXPECT_EQ(humps.attribute, "");
    EXPECT_EQ(humps.status, Status::suspected);
    EXPECT_EQ(fleet.exit_code, 11);
    EXPECT_EQ(fleet.sentence.find("no node differs"), std::string::npos);
    EXPECT_TRUE(fleet.outliers.empty());
  }
}

TEST(FleetLevels, StallsAreSeenInMeansOverTime) {
  Runs runs;
  for (const char* day : {"1", "2"})
    for (int i = 1; i <= 12; ++i) {
      StoredRun run = run_of(i, {1e9 * (1 + 0.001 * i)}, day);
      StoredMetric& metric = run.points[0].metrics[0];
      if (i == 7) metric.values = {1e9, 1e9, 1e9, 1e8, 1e8};
      metric.median = 1e9;
      metric.mean_over_time = i == 7 ? 6.4e8 : 1e9;
      runs.add(run);
    }
  const Fleet fleet = runs.judged();
  ASSERT_EQ(fleet.outliers.size(), 1u);
  EXPECT_EQ(fleet.outliers[0].status, Status::confirmed);
  EXPECT_NEAR(fleet.outliers[0].deviation.value(), -0.36, 1e-9);
  EXPECT_EQ(fleet.exit_code, 10);
}

TEST(FleetLevels, AFleetThatGivesNothingAnyMoreIsReported) {
  Runs runs;
  for (const char* day : {"1", "2"})
    for (int i = 1; i <= 12; ++i) runs.add(run_of(i, {std::string(day) == "1" ? 1e9 * (1 + 0.001 * i) : 0}, day));
  const Fleet fleet = runs.judged();
  ASSERT_EQ(fleet.effects.size(), 1u);
  EXPECT_EQ(fleet.effects[0].attribute, "fleet");
  EXPECT_EQ(fleet.effects[0].shift, -1);
}

TEST(FleetLevels, TheCauseOfTwoHumpsIsNamed) {
  // By a fact of the fingerprint that makes no groups.
  Fleet fleet = nodes(32, 0.8, every_other, [](StoredRun& run, bool slow) {
                  run.environment["power.governor"] = slow ? "powersave" : "performance";
                  run.environment["memory.free"] = run.node;  // explains nothing: each has its own
                }).judged();
  ASSERT_EQ(fleet.effects.size(), 1u);
  EXPECT_EQ(fleet.effects[0].attribute, "power.governor");
  EXPECT_EQ(fleet.effects[0].name, "powersave");
  EXPECT_NE(fleet.effects[0].explanation.find("the others performance"), std::string::npos)
      << fleet.effects[0].explanation;
  // What half of two nodes have names neither side alone.
  fleet = nodes(32, 0.8, every_other, [](StoredRun& run, bool slow) {
            const bool either = run.node == name_of(1) || run.node == name_of(2);
            run.environment["power.governor"] = either ? "ondemand" : slow ? "powersave" : "performance";
          }).judged();
  EXPECT_EQ(fleet.effects.at(0).name, "powersave");
  // By the hosts' file.
  Runs runs = nodes(32, 0.8, every_other, as_it_is);
  for (int i = 1; i <= 32; ++i) runs.options.hosts.push_back(host_of(i, "", {{"row", i % 2 == 0 ? "east" : "west"}}));
  fleet = runs.judged();
  ASSERT_EQ(fleet.effects.size(), 1u);
  EXPECT_EQ(fleet.effects[0].attribute, "row");
  EXPECT_EQ(fleet.effects[0].name, "east");
  // One node in sixteen of the wrong side still is explained by it, three are not.
  for (const int wrong : {1, 3}) {
    int left = wrong;
    fleet = nodes(32, 0.8, every_other, [&](StoredRun& run, bool slow) {
              run.environment["power.governor"] = slow && left-- <= 0 ? "powersave" : "performance";
            }).judged();
    EXPECT_EQ(fleet.effects.at(0).attribute, wrong == 1 ? "power.governor" : "");
  }
}

TEST(FleetLevels, ASecondSessionConfirmsTwoHumps) {
  Runs runs = nodes(16, 0.8, every_other, as_it_is);
  for (int i = 2; i <= 6; i += 2) runs.add(run_of(i, {8e8}, "1"));
  const Fleet fleet = runs.judged();
  ASSERT_EQ(fleet.effects.size(), 1u);
  EXPECT_EQ(fleet.effects[0].status, Status::confirmed);
  EXPECT_EQ(fleet.exit_code, 10);
}

TEST(FleetLevels, SmallHumpsAreNone) {
  EXPECT_TRUE(nodes(64, 0.96, every_other, as_it_is).judged().effects.empty());  // within delta
  EXPECT_TRUE(nodes(64, 1.0, every_other, as_it_is).judged().effects.empty());
}

TEST(FleetLevels, TheSameHardwareOtherwiseSetUpIsAFinding) {
  const auto kernel = [](StoredRun& run, bool slow) { run.environment["kernel.release"] = slow ? "6.5.0" : "6.1.0"; };
  const Fleet fleet = nodes(32, 0.8, every_other, kernel).judged();
  EXPECT_EQ(fleet.groups.size(), 2u);
  ASSERT_EQ(fleet.effects.size(), 1u);
  EXPECT_EQ(fleet.effects[0].attribute, "kernel.release");
  EXPECT_EQ(fleet.effects[0].name, "6.5.0");
  EXPECT_EQ(fleet.effects[0].nodes.size(), 16u);
  EXPECT_EQ(fleet.exit_code, 11);
  // The larger group may be the slow one.
  const auto most = [](int i) { return i % 3 != 0; };
  const Fleet larger = nodes(36, 0.8, most, kernel).judged();
  ASSERT_EQ(larger.effects.size(), 1u);
  EXPECT_EQ(larger.effects[0].name, "6.5.0");
  EXPECT_EQ(larger.effects[0].nodes.size(), 24u);
}

/// As headrace writes it of nodes with GPUs: what each has of its own, and what changes by the moment, is no hardware.
TEST(FleetLevels, NodesWithGpusAreOneGroup) {
  int number = 0;
  const auto slow_one = [](int i) { return i == 5; };
  const Fleet fleet =
      nodes(32, 0.8, slow_one, [&](StoredRun& run, bool) {
        const std::string own = std::to_string(++number);
        for (const std::string gpu : {"gpu0", "gpu1"}) {
          run.environment[gpu + ".name"] = "H100";
          run.environment[gpu + ".driver"] = "550.54";
          for (const char* key : {".uuid", ".pci_address", ".clock", ".memory_clock", ".power", ".temperature",
                                  ".held_back", ".pcie_replays", ".ecc_corrected", ".link_when_asked", ".numa_node"})
            run.environment[gpu + key] = own;
        }
      }).judged();
  EXPECT_EQ(fleet.groups.size(), 1u);
  EXPECT_EQ(fleet.outliers.size(), 1u);
}

TEST(FleetLevels, OtherHardwareIsReportedWithoutBlame) {
  for (const char* part : {"nic0.model", "gpu0.name", "cpu.model"}) {
    const Fleet fleet = nodes(32, 0.8, every_other, [&](StoredRun& run, bool slow) {
                          run.environment[part] = slow ? "X520" : "X710";
                        }).judged();
    ASSERT_EQ(fleet.groups.size(), 2u) << part;
    ASSERT_EQ(fleet.groups[1].shifts.size(), 1u) << part;
    EXPECT_NEAR(std::abs(fleet.groups[1].shifts[0].shift), 0.22, 0.04);
    EXPECT_TRUE(fleet.effects.empty()) << part;
    EXPECT_EQ(fleet.exit_code, 0);
    EXPECT_EQ(fleet.sentence.find("no node differs"), std::string::npos) << fleet.sentence;
    EXPECT_NE(fleet.sentence.find("1 group of other hardware"), std::string::npos);
  }
  // Three values of a group are no level of it.
  int left = 3;
  const auto every_third = [](int i) { return i % 3 == 0; };
  const Fleet few = nodes(36, 0.8, every_third, [&](StoredRun& run, bool slow) {
                      run.environment["nic0.model"] = slow ? "X520" : "X710";
                      if (slow && left-- <= 0) run.points.clear();
                    }).judged();
  ASSERT_EQ(few.groups.size(), 2u);
  EXPECT_TRUE(few.groups[1].shifts.empty());
}

TEST(FleetLevels, MemoryWithinAHundredthIsAlike) {
  for (const auto& [more, groups] :
       {std::pair{"15.51 GiB", 1u}, {"15.64 GiB", 1u}, {"15.65 GiB", 2u}, {"31 GiB", 2u}}) {
    Runs runs;
    for (int i = 1; i <= 12; ++i) {
      StoredRun run = run_of(i, {1e9});
      run.environment["memory.total"] = i % 2 == 0 ? more : "15.49 GiB";
      runs.add(run);
    }
    const Fleet fleet = runs.judged();
    EXPECT_EQ(fleet.groups.size(), groups) << more;
    if (groups == 2) {
      EXPECT_EQ(fleet.groups[1].differs.at(0).key, "memory.total");
    }
    EXPECT_EQ(fleet.judged, groups == 1 ? 12u : 0u);
  }
}

TEST(FleetLevels, AUsualOfZeroIsNoReasonToFail) {
  Runs runs;
  for (int i = 1; i <= 12; ++i) {
    StoredRun run = run_of(i, {i == 12 ? 3.0 : 0.0});
    run.points[0].metrics[0].better = Better::lower;
    runs.add(run);
  }
  const Fleet fleet = runs.judged();
  ASSERT_EQ(fleet.outliers.size(), 1u);
  EXPECT_FALSE(fleet.outliers[0].deviation.has_value());
  const auto json = nlohmann::json::parse(fleet_json(fleet));
  EXPECT_TRUE(json["outliers"][0]["deviation"].is_null());
  EXPECT_TRUE(json["outliers"][0]["z"].is_null());
  // A rate that is 0 is as bad as can be, and 0 everywhere is no finding.
  Runs dead;
  for (int i = 1; i <= 12; ++i) dead.add(run_of(i, {i == 12 ? 0.0 : 1e9}));
  ASSERT_EQ(dead.judged().outliers.size(), 1u);
  Runs all;
  for (int i = 1; i <= 12; ++i) all.add(run_of(i, {0.0}));
  EXPECT_TRUE(all.judged().outliers.empty());
  fleet_json(all.judged());
  // Half of them: two humps, of which one has no usual to be a share of.
  Runs half;
  for (int i = 1; i <= 32; ++i) {
    StoredRun run = run_of(i, {i % 2 == 0 ? 3.0 : 0.0});
    run.points[0].metrics[0].better = Better::lower;
    half.add(run);
  }
  const Fleet humps = half.judged();
  ASSERT_EQ(humps.effects.size(), 1u);
  EXPECT_TRUE(nlohmann::json::parse(fleet_json(humps))["group_effects"][0]["shift"].is_null());
}

TEST(FleetLevels, ARackThatGivesNothingIsARack) {
  Runs runs;
  for (int i = 1; i <= 32; ++i) {
    const std::string rack = "r" + std::to_string((i - 1) / 4);
    runs.options.hosts.push_back(host_of(i, rack));
    runs.add(run_of(i, {rack == "r2" ? 0.0 : 1e9}));
  }
  const Fleet fleet = runs.judged();
  ASSERT_EQ(fleet.effects.size(), 1u);
  EXPECT_EQ(fleet.effects[0].name, "r2");
  EXPECT_TRUE(fleet.outliers.empty());
  fleet_json(fleet);
}

/// Twenty nodes that are equal but for one in ten thousand, and one of this value.
std::size_t outliers_with(double value, double delta) {
  Collector collector({}, delta);
  for (int i = 1; i <= 20; ++i) collector.add(run_of(i, {1e9 * (1 + 0.0001 * (i % 3))}));
  collector.add(run_of(30, {value}));
  return judge(collector, {}, {}).outliers.size();
}

TEST(FleetLevels, AllButEqualValuesMakeNoOutliers) {
  // The spread counts as half a percent at least: 3.5 of those are 1.75 %.
  EXPECT_EQ(outliers_with(9.84e8, 0.01), 0u);
  EXPECT_EQ(outliers_with(9.81e8, 0.01), 1u);
}

TEST(FleetLevels, LessThanDeltaIsNoOutlier) {
  EXPECT_EQ(outliers_with(1e9 / 1.049, 0.05), 0u);
  EXPECT_EQ(outliers_with(1e9 / 1.052, 0.05), 1u);
}

TEST(FleetLevels, SevenAlikeReportNothing) {
  for (const int count : {7, 8}) {
    Runs runs;
    for (int i = 1; i <= count; ++i) runs.add(run_of(i, {i == 1 ? 5e8 : 1e9}));
    EXPECT_EQ(runs.judged().outliers.size(), count == 8 ? 1u : 0u);
  }
}

TEST(FleetLevels, HalfOfTheGroupWithAValueMakeItMissed) {
  for (const int with : {4, 5}) {
    Runs runs;
    for (int i = 1; i <= 10; ++i)
      runs.add(run_of(i, i <= with ? std::vector<double>{1e9, 2e9} : std::vector<double>{1e9}));
    EXPECT_EQ(runs.judged().missing.size(), with == 5 ? 5u : 0u);
  }
}

TEST(FleetLevels, ARackIsThreeQuartersOfItsNodes) {
  for (const int bad : {5, 6}) {
    Runs runs;
    Draws draws(9);
    for (int i = 1; i <= 40; ++i) {
      runs.options.hosts.push_back(host_of(i, "r" + std::to_string((i - 1) / 8)));
      runs.add(run_of(i, {1e9 * (1 + 0.005 * normal(draws)) * (i <= bad ? 0.9 : 1)}));
    }
    const Fleet fleet = runs.judged();
    EXPECT_EQ(fleet.effects.size(), bad == 6 ? 1u : 0u);
    EXPECT_EQ(fleet.outliers.size(), bad == 6 ? 0u : 5u);
  }
}

TEST(FleetLevels, ARackHasThreeNodesAndEightBesides) {
  const auto found = [](int of_rack, int rest) {
    Runs runs;
    for (int i = 1; i <= of_rack + rest; ++i) {
      runs.options.hosts.push_back(host_of(i, i <= of_rack ? "bad" : "good"));
      runs.add(run_of(i, {1e9 * (1 + 0.001 * (i % 5)) * (i <= of_rack ? 0.9 : 1)}));
    }
    const Fleet fleet = runs.judged();
    return fleet.effects.empty() ? std::string() : fleet.effects[0].explanation;
  };
  EXPECT_NE(found(3, 8).find("3 of 3 nodes of rack bad"), std::string::npos);
  EXPECT_EQ(found(2, 20), "");
  EXPECT_NE(found(3, 7).find("3 of 10 like nodes"), std::string::npos);  // two humps
}

}  // namespace
}  // namespace headrace::fleet::fleet_levels_test
