// Facts of hosts compared with each other: each kind of fact, at the edge between a fault, a difference and neither.
#include "harness/bringup/tests/preflight.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/backends/gpu_faults.h"

namespace headrace::bringup::bringup_preflight_test {
namespace {

std::vector<Answered> hosts(unsigned count) {
  std::vector<Answered> all(count);
  for (unsigned host = 0; host < count; ++host) {
    all[host].host = host;
    all[host].name = all[host].facts.host = fmt::format("n{}", host);
    all[host].facts.machine = fmt::format("m{}", host);
  }
  return all;
}

/// "fault 2 cpu.cores", "2 cpu.cores": in order.
std::vector<std::string> found(const std::vector<Answered>& all) {
  std::vector<std::string> out;
  for (const Difference& one : differences(all)) {
    out.push_back(fmt::format("{}{} {}", one.fault ? "fault " : "", one.host, one.what));
    EXPECT_TRUE(!one.fix.empty() && !one.tested) << out.back();
  }
  return out;
}
using Words = std::vector<std::string>;

/// Of one host of four that has `odd` where the others have `usual`: "fault", "differs" or "".
std::string verdict(const std::string& key, const std::string& usual, const std::string& odd) {
  std::vector<Answered> all = hosts(4);
  for (Answered& one : all) {
    one.facts.facts[key] = usual;
    if (key.starts_with("gpu0")) one.facts.facts.emplace("gpu0.name", "H");
    if (key.starts_with("port ")) one.facts.facts[key.substr(0, key.rfind('.')) + ".kind"] = "Ethernet";
  }
  if (odd.empty())
    all[2].facts.facts.erase(key);
  else
    all[2].facts.facts[key] = odd;
  const std::vector<Difference> differs = differences(all);
  if (differs.empty()) return "";
  EXPECT_EQ(differs.size(), 1u) << key;
  EXPECT_EQ(differs[0].host, 2u) << key;
  return differs[0].fault ? "fault" : "differs";
}

TEST(BringUpPreflight, LessIsAFaultMoreOrAnotherIsADifference) {
  struct Case {
    const char *key, *usual, *odd, *verdict;
  };
  for (const Case& one :
       std::initializer_list<Case>{{"memory.total", "100 GiB", "99.2 GiB", ""},  // the kernel's own part
                                   {"memory.total", "100 GiB", "98.5 GiB", "fault"},
                                   {"memory.total", "100 GiB", "102 GiB", "differs"},
                                   {"memory.total", "1 TiB", "900 GiB", "fault"},
                                   {"memory.total", "900 GiB", "1 TiB", "differs"},
                                   {"memory.total", "100 GiB", "unknown", "differs"},
                                   {"memory.total", "unknown", "100 GiB", "differs"},
                                   {"memory.total", "100 GiB", "", "fault"},
                                   {"cpu.threads", "200", "199", "fault"},  // within a hundredth, and no memory
                                   {"cpu.cores", "64", "128", "differs"},
                                   {"cpu.max_frequency", "3.5 GHz", "2.1 GHz", "fault"},
                                   {"cpu.model", "X", "Y", "differs"},
                                   {"cpu.model", "X", "", "differs"},
                                   {"cpu.numa_nodes", "2", "1", "differs"},
                                   {"cpu.governor", "performance", "powersave", "fault"},
                                   {"limits.open_files", "1048576", "1024", "fault"},
                                   {"limits.open_files", "1024", "unlimited", "differs"},
                                   {"limits.locked_memory", "unlimited", "65536", "fault"},
                                   {"gpu0.driver", "550.1", "560.2", "differs"},
                                   {"gpu0.memory", "80 GiB", "40 GiB", "fault"},
                                   {"gpu0.memory", "80 GiB", "141 GiB", "differs"},
                                   {"gpu0.name", "H", "A", "fault"},
                                   {"port eth0.rate", "200 Gbit/s", "50 Gbit/s", "fault"},
                                   {"port eth0.rate", "1000 Mbit/s", "2 Gbit/s", "differs"},
                                   {"port eth0.mtu", "9000", "1500", "fault"},
                                   {"port eth0.driver", "mlx5", "bnxt", "differs"},
                                   {"nccl.NCCL_DEBUG", "INFO", "", "differs"}})
    EXPECT_EQ(verdict(one.key, one.usual, one.odd), one.verdict) << one.key << " " << one.usual << " " << one.odd;
}

TEST(BringUpPreflight, AValueOfHalfOfTheHostsIsNotUsual) {
  for (const unsigned count : {2u, 3u, 4u, 5u, 6u}) {
    std::vector<Answered> all = hosts(count);
    for (Answered& one : all) one.facts.facts["cpu.cores"] = one.host < 2 ? "32" : "64";
    EXPECT_EQ(found(all), count == 2 || count == 4 ? Words{}
                          : count == 3             ? Words{"2 cpu.cores"}
                                                   : (Words{"fault 0 cpu.cores", "fault 1 cpu.cores"}))
        << count;
  }
}

TEST(BringUpPreflight, AValueOfOneAcceptedHostIsNotUsual) {
  std::vector<Answered> all = hosts(5);
  for (Answered& one : all) {
    one.accepted = one.host > 0;
    one.kept = one.host > 1;
    one.facts.facts["cpu.cores"] = one.host == 0 || one.host == 2 ? "32" : "64";
  }
  EXPECT_EQ(found(all), Words{"fault 0 cpu.cores"});
}

TEST(BringUpPreflight, AMissingGpuIsAFaultAndMoreOfThemAreNot) {
  for (const unsigned own : {0u, 1u, 2u, 3u}) {
    std::vector<Answered> all = hosts(3);
    for (Answered& one : all)
      for (unsigned gpu = 0; gpu < (one.host == 1 ? own : 2); ++gpu) {
        one.facts.facts[fmt::format("gpu{}.name", gpu)] = "H";
        one.facts.facts[fmt::format("gpu{}.mig", gpu)] = one.host == 0 && gpu == 1 ? "on" : "off";
      }
    Words wanted;
    if (own != 2) wanted.push_back(own < 2 ? "fault 1 GPUs" : "1 GPUs");
    if (own > 1) wanted.push_back("fault 0 gpu1.mig");
    EXPECT_EQ(found(all), wanted) << own;
  }
}

TEST(BringUpPreflight, PortsAreComparedWhereThreeHaveThem) {
  for (const unsigned having : {2u, 3u}) {
    std::vector<Answered> all = hosts(5);
    for (unsigned host = 0; host < having; ++host) {
      all[host].facts.facts["port eth7.kind"] = "Ethernet";
      all[host].facts.facts["port eth7.mtu"] = host == 0 ? "1500" : "9000";
      all[host].facts.facts["zone"] = "beyond the ports";
    }
    EXPECT_EQ(found(all), having == 3 ? Words{"fault 0 port eth7.mtu"} : Words{});
  }
}

TEST(BringUpPreflight, OfEachPathTheMountIsTheSame) {
  std::vector<Answered> all = hosts(4);
  for (Answered& one : all)
    one.facts.paths = {{"/data", true, "nfs4", "store:/x"}, {"/home", true, "nfs4", "store:/y"}};
  EXPECT_EQ(found(all), Words{});
  all[1].facts.paths[1].type = "ext4";
  all[2].facts.paths[0].there = false;
  all[3].facts.paths.pop_back();  // of a headrace that was not asked
  EXPECT_EQ(found(all), (Words{"fault 2 path /data", "fault 1 path /home"}));
  for (Answered& one : all)
    for (agents::PathFacts& path : one.facts.paths) path.there = false;
  EXPECT_EQ(found(all).size(), 7u);
  all[0].accepted = all[0].kept = true;
  EXPECT_EQ(found(all).size(), 5u) << "what was there before is not asked again";
}

TEST(BringUpPreflight, AClockIsOffByMoreThanATenthOfASecondSurely) {
  const auto with = [](double off, double error = 0, unsigned count = 4) {
    std::vector<Answered> all = hosts(count);
    for (Answered& one : all) one.clock_s = 1000;  // the collector's is wrong
    all[1].clock_s += off;
    all[1].clock_error_s = error;
    return found(all);
  };
  const Words fault{"fault 1 clock"};
  for (const double sign : {-1.0, 1.0}) {
    EXPECT_EQ(with(sign * 0.09), Words{});
    EXPECT_EQ(with(sign * 0.11), fault);
    EXPECT_EQ(with(sign * 0.15, 0.06), Words{});
    EXPECT_EQ(with(sign * 0.15, 0.04), fault);
    EXPECT_EQ(with(sign * 0.15, 0, 3), fault);
  }
  // Three accepted ones are enough without the collector's, and are judged themselves.
  std::vector<Answered> all = hosts(4);
  for (Answered& one : all) one.accepted = one.host > 0, one.clock_s = one.host == 3 ? 9 : 5;
  EXPECT_EQ(found(all), Words{"fault 3 clock"});
  all[3].kept = true;  // two of them are few
  EXPECT_EQ(found(all), Words{});
  all[0].clock_s = 0.5;
  EXPECT_EQ(found(all), Words{"fault 0 clock"}) << "also the collector's own is another";
}

TEST(BringUpPreflight, NamesOfHostsAreTheirOwn) {
  std::vector<Answered> all = hosts(4);
  all[0].name = "10.0.0.1";  // the file has an address, and nobody else is called n0
  EXPECT_EQ(found(all), Words{});
  all[1].facts.host = all[2].facts.host = "localhost";
  EXPECT_EQ(found(all), (Words{"1 name", "2 name"}));
  EXPECT_NE(differences(all)[0].reported.find("as 1 others do"), std::string::npos);
  all[1].facts.host = "n3";
  EXPECT_EQ(found(all), (Words{"1 name", "3 name"}));
  all[3].facts.host = "n1";  // the cables of both were swapped
  all[2].facts.host = "n2";
  EXPECT_EQ(found(all), (Words{"1 name", "3 name"}));
  all[1].accepted = all[1].kept = true;
  EXPECT_EQ(found(all), Words{"3 name"});
}

TEST(BringUpPreflight, ANameMayBeTheFirstLabelOfAnother) {
  std::vector<Answered> all = hosts(3);
  all[2].name = all[2].facts.host = "n1.b";
  EXPECT_EQ(found(all), Words{});
}

TEST(BringUpPreflight, AHostsOwnReportOnItsHealthCountsAlone) {
  struct Case {
    const char *key, *text, *verdict;
  };
  for (const Case& one : std::initializer_list<Case>{{"gpu0.recovery", "reset", "fault"},
                                                     {"gpu0.past_errors", "Xid 79", "differs"},
                                                     {"gpu0.held_back", "thermal", "differs"},
                                                     {"gpu0.held_back", "power limit", ""},
                                                     {"gpu0.other", "thermal", ""},
                                                     {"gpu0.fabric", GpuFacts::kFabricNotStarted, "differs"},
                                                     {"gpu0.fabric", GpuFacts::kFabricInProgress, "differs"},
                                                     {"gpu0.fabric", "completed", ""},
                                                     {"gpu0.other", GpuFacts::kFabricInProgress, ""},
                                                     {"gpu0.fault_unknown", "x", ""},
                                                     {"gpu0.fault_remap_failed", "x", "fault"}}) {
    std::vector<Answered> all = hosts(1);
    all[0].facts.facts[one.key] = one.text;
    const Words alone = found(all);
    EXPECT_EQ(alone, *one.verdict == '\0'                  ? Words{}
                     : std::string(one.verdict) == "fault" ? Words{"fault 0 gpu0"}
                                                           : Words{"0 gpu0"})
        << one.key;
    all[0].kept = all[0].accepted = true;
    EXPECT_EQ(found(all), Words{}) << one.key;
  }
  for (const FaultCount& count : kFaultCounts) {
    std::vector<Answered> all = hosts(1);
    all[0].facts.facts[fmt::format("gpu0.{}{}", kFaultKey, count.name)] = "1";
    EXPECT_EQ(found(all), count.always ? Words{"fault 0 gpu0"} : Words{}) << count.name;
  }
}

TEST(BringUpPreflight, EachFurtherNameOfAMachineIsReported) {
  std::vector<Answered> all = hosts(4);
  all[1].facts.machine = all[3].facts.machine = "m0";
  const std::vector<Difference> same = same_machines(all);
  ASSERT_EQ(same.size(), 2u);
  for (const Difference& one : same) EXPECT_NE(one.reported.find("same machine as n0"), std::string::npos);
  EXPECT_EQ(same[1].host, 3u);
  for (const unsigned host : {0, 2}) all[host].facts.addresses = {{"eth0", "10.0.0.1"}};
  EXPECT_EQ(same_addresses(all).size(), 2u);
  all[0].kept = true;
  EXPECT_TRUE(same_addresses(all).empty());
}

}  // namespace
}  // namespace headrace::bringup::bringup_preflight_test
