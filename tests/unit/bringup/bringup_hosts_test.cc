// Real hosts brought up: their file, what they report on themselves, what their pairs say together, and what is kept.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/base/diagnostics.h"
#include "harness/bringup/blame/fast_pair.h"
#include "harness/bringup/blame/flapping.h"
#include "harness/bringup/blame/judge.h"
#include "harness/bringup/blame/topology.h"
#include "harness/bringup/conclusion.h"
#include "harness/bringup/hand_over.h"
#include "harness/bringup/record.h"
#include "harness/bringup/tests/preflight.h"
#include "tests/unit/bringup_record.h"

namespace headrace::bringup::bringup_hosts_test {
namespace {

TEST(BringUpHosts, SwitchesGoBeforeRacks) {
  Record racks = record_of("a rack=r1 slots=8\nb rack=r2 # spare\n\nc rack=r1\n");
  EXPECT_EQ(topologies_of(racks)[0].switch_of, (std::vector<unsigned>{0, 1, 0}));
  EXPECT_EQ(racks.switches, (std::vector<std::string>{"rack r1", "rack r2"}));
  Record switches = record_of("a rack=r1 switch=s1 rail=e0,e1\nb rack=r1 rail=e0,e1\n");
  const Topology topology = topologies_of(switches)[0];
  EXPECT_EQ(topology.switch_of, (std::vector<unsigned>{0, kNoSwitch}));
  EXPECT_EQ(topology.rails, 2u);
  Record plain = record_of("a\nb\n");
  EXPECT_TRUE(topologies_of(plain)[0].switch_of.empty());
  EXPECT_THROW(hosts_from("a rail=e0\nb\n", "hosts"), UsageError);
  EXPECT_THROW(hosts_from("a rail=e0,e0\n", "hosts"), UsageError);
  EXPECT_THROW(hosts_from("# nobody\n", "hosts"), UsageError);
}

Answered host(std::size_t number, const std::string& memory, double clock_s = 0) {
  Answered one;
  one.host = number;
  one.name = "n" + std::to_string(number);
  one.facts.host = one.name;
  one.facts.machine = "m" + std::to_string(number);
  one.facts.facts = {{"memory.total", memory}, {"kernel.release", "6.1"}, {"gpu0.name", "H"}, {"gpu1.name", "H"}};
  one.facts.paths = {{"/data", true, "nfs4", "store:/x"}};
  one.clock_s = clock_s;
  return one;
}

std::vector<std::string> describe(const std::vector<Answered>& all, bool faults = true) {
  std::vector<std::string> out;
  for (const Difference& one : differences(all))
    if (one.fault == faults) out.push_back(std::to_string(one.host) + " " + one.what);
  return out;
}

TEST(BringUpHosts, AHostUnlikeMostOthersIsReported) {
  std::vector<Answered> all{host(0, "503 GiB"), host(1, "503 GiB"), host(2, "502 GiB"), host(3, "503 GiB", 0.02)};
  EXPECT_TRUE(describe(all).empty());  // what the kernel keeps, and a clock a little off
  all[1].facts.facts["memory.total"] = "440 GiB";
  all[2].facts.facts.erase("gpu1.name");
  all[3].clock_s = -0.5;
  all[0].facts.paths[0].source = "/dev/sda1";
  all[3].facts.facts["kernel.release"] = "6.2";
  EXPECT_EQ(describe(all), (std::vector<std::string>{"1 memory.total", "2 GPUs", "0 path /data", "3 clock"}));
  EXPECT_EQ(describe(all, false), (std::vector<std::string>{"3 kernel.release"}));
  all[3].clock_error_s = 0.45;  // its answer took so long that its clock may be right
  all[2].facts.paths[0].there = false;
  EXPECT_EQ(describe(all), (std::vector<std::string>{"1 memory.total", "2 GPUs", "2 path /data", "0 path /data"}));
}

TEST(BringUpHosts, WithoutABaselineNoHostDiffers) {
  EXPECT_TRUE(describe({host(0, "503 GiB"), host(1, "251 GiB")}).empty());
  EXPECT_TRUE(describe({host(0, "503 GiB"), host(1, "503 GiB"), host(2, "251 GiB"), host(3, "251 GiB")}).empty());
  EXPECT_EQ(describe({host(0, "503 GiB"), host(1, "600 GiB"), host(2, "503 GiB")}, false),
            std::vector<std::string>{"1 memory.total"});  // more is no fault
}

/// One host alone, two, or all of them: nobody needs to be compared for it.
TEST(BringUpHosts, ABrokenPartIsAFaultRegardlessOfOthers) {
  std::vector<Answered> all{host(0, "503 GiB"), host(1, "503 GiB")};
  EXPECT_TRUE(describe(all).empty());
  all[1].facts.facts["gpu1.fault_remap_failed"] = "a row of memory failed, and no spare row was left";
  all[1].facts.facts["gpus.fault_lost"] = "GPU at 0000:43:00.0: it is on the PCI bus, but the driver cannot use it";
  EXPECT_EQ(describe(all), (std::vector<std::string>{"1 gpu1", "1 gpus"}));
  for (const Difference& one : differences(all)) EXPECT_NE(one.fix.find("drain the node"), std::string::npos);
  all[0].facts.facts = all[1].facts.facts;  // all of them are broken
  EXPECT_EQ(describe(all).size(), 4u);
  all.erase(all.begin());
  EXPECT_EQ(describe(all).size(), 2u);
}

TEST(BringUpHosts, PortsAndSettingsOfNcclAreCompared) {
  std::vector<Answered> all{host(0, "503 GiB"), host(1, "503 GiB"), host(2, "503 GiB"), host(3, "503 GiB")};
  for (Answered& one : all) {
    one.facts.facts["port mlx5_0/1.kind"] = one.facts.facts["port eth0.10.kind"] = "InfiniBand";
    one.facts.facts["port mlx5_0/1.rate"] = "400 Gbit/s";
    one.facts.facts["port mlx5_0/1.firmware"] = "28.39.1002";
    one.facts.facts["port eth0.10.mtu"] = "9000";
    one.facts.facts["nccl.NCCL_IB_HCA"] = "mlx5 (/etc/nccl.conf)";
  }
  EXPECT_TRUE(describe(all).empty() && describe(all, false).empty());
  all[1].facts.facts["port mlx5_0/1.rate"] = "200 Gbit/s";
  all[2].facts.facts["port eth0.10.mtu"] = "1500";
  all[2].facts.facts["port mlx5_0/1.firmware"] = "28.38.1900";
  all[3].facts.facts.erase("nccl.NCCL_IB_HCA");
  all[0].facts.facts["gpu1.past_errors"] = "Xid 79 (the GPU has fallen off the bus)";
  EXPECT_EQ(describe(all), (std::vector<std::string>{"2 port eth0.10.mtu", "1 port mlx5_0/1.rate"}));
  EXPECT_EQ(describe(all, false), (std::vector<std::string>{"0 gpu1", "2 port mlx5_0/1.firmware", "3 NCCL_IB_HCA"}));
  all[2].facts.facts["port eth0.10.mtu"] = "9216";  // larger costs nothing
  EXPECT_EQ(describe(all), std::vector<std::string>{"1 port mlx5_0/1.rate"});
}

TEST(BringUpHosts, OwnNamesAreLookedForBeforeFirstLabels) {
  std::vector<Answered> all{host(0, "503 GiB"), host(1, "503 GiB"), host(2, "503 GiB")};
  for (Answered& one : all) one.name = one.facts.host = "worker." + std::to_string(one.host + 1) + ".cluster.net";
  EXPECT_TRUE(describe(all, false).empty());
  all[1].facts.host = "n7";
  all[2].name = "n7.cluster.net";
  EXPECT_EQ(describe(all, false), std::vector<std::string>{"1 name"}) << "another one is called so in the file";
}

TEST(BringUpHosts, ASchedulerIsGivenNamesAndNoAddresses) {
  Record record = record_of("10.0.0.1\n10.0.0.2\n");
  record.nodes[1].facts = host(1, "503 GiB").facts;
  for (NodeRecord& node : record.nodes) node.state = NodeState::confirmed;
  const Commands commands = commands_for(record, Scheduler::slurm);
  ASSERT_EQ(commands.drain.size(), 1u);
  EXPECT_NE(commands.drain[0].find("10.0.0.1,n1"), std::string::npos) << commands.drain[0];
  record.nodes[0].facts = record.nodes[1].facts;  // all are made of one image
  record.nodes[0].state = NodeState::accepted;
  for (const Scheduler one : {Scheduler::slurm, Scheduler::kubernetes}) {
    const std::string drain = commands_for(record, one).drain.at(0);
    EXPECT_TRUE(drain.find("10.0.0.2") != drain.npos && drain.find("n1") == drain.npos) << drain;
  }
  record.nodes[0].missing = {"another name of 10.0.0.2", "", false, true};
  EXPECT_NE(commands_for(record, Scheduler::slurm).drain.at(0).find("nodename=n1 "), std::string::npos);
}

TEST(BringUpHosts, SlurmIsGivenShortNames) {
  Record record = record_of("n1.hpc.example.com\nn2.hpc.example.com\n");
  for (std::size_t i = 0; i < 2; ++i) record.nodes[i].facts = host(i + 1, "503 GiB").facts;
  record.nodes[0].state = NodeState::confirmed;
  const auto drain = [&](Scheduler scheduler) { return commands_for(record, scheduler).drain.at(0); };
  EXPECT_NE(drain(Scheduler::slurm).find("nodename=n1 "), std::string::npos) << drain(Scheduler::slurm);
  EXPECT_NE(drain(Scheduler::kubernetes).find("nodes n1.hpc.example.com "), std::string::npos);
  record.nodes[0].facts->host = "other";
  EXPECT_NE(drain(Scheduler::slurm).find("nodename=n1.hpc.example.com "), std::string::npos);
  record.nodes[0].facts->host = "n1";
  record.nodes[1].host.name = "n1.lab.example.com";
  EXPECT_NE(drain(Scheduler::slurm).find("nodename=n1.hpc.example.com "), std::string::npos) << "two are n1";
}

TEST(BringUpHosts, GpuThrottlingIsReportedAndItsPowerLimitIsNot) {
  std::vector<Answered> all{host(0, "503 GiB"), host(1, "503 GiB"), host(2, "503 GiB"), host(3, "503 GiB")};
  for (Answered& one : all) one.facts.facts["gpu0.held_back"] = "power limit";
  EXPECT_TRUE(describe(all).empty() && describe(all, false).empty());
  all[2].facts.facts["gpu0.held_back"] = "power limit, thermal, by hardware";
  all[3].facts.facts["gpu1.fabric"] = "in progress";
  EXPECT_TRUE(describe(all).empty());
  EXPECT_EQ(describe(all, false), (std::vector<std::string>{"2 gpu0", "3 gpu1"}));
}

Answered accepted(Answered one, bool kept) {
  one.accepted = true;
  one.kept = kept;
  return one;
}

TEST(BringUpHosts, ARepairedHostIsComparedWithAcceptedOnesAlone) {
  // One partner that is there, and what two others reported when they were accepted.
  std::vector<Answered> all{host(0, "440 GiB"), accepted(host(1, "503 GiB"), false), accepted(host(2, "503 GiB"), true),
                            accepted(host(3, "503 GiB"), true)};
  EXPECT_EQ(describe(all), std::vector<std::string>{"0 memory.total"});
  all[0] = host(0, "503 GiB");
  EXPECT_TRUE(describe(all).empty());
  all[0].facts.paths[0].source = "/dev/sda1";
  EXPECT_EQ(describe(all), std::vector<std::string>{"0 path /data"});
  // Two repaired ones alike are no majority against an accepted one.
  EXPECT_EQ(describe({host(0, "440 GiB"), host(1, "440 GiB"), accepted(host(2, "503 GiB"), false)}),
            (std::vector<std::string>{"0 memory.total", "1 memory.total"}));
}

TEST(BringUpHosts, AChangeSinceAcceptanceIsNoFault) {
  std::vector<Answered> all{host(0, "440 GiB"), accepted(host(1, "440 GiB"), false), accepted(host(2, "503 GiB"), true),
                            accepted(host(3, "503 GiB"), true), accepted(host(4, "503 GiB"), true)};
  EXPECT_TRUE(describe(all).empty());
  all[0] = host(0, "503 GiB");  // the partner alone has lost some
  EXPECT_EQ(describe(all), std::vector<std::string>{"1 memory.total"});
  for (std::size_t i = 2; i < 5; ++i)
    all[i].facts.facts.erase("kernel.release");  // of a headrace that did not report it
  all[0].facts.facts["kernel.release"] = "6.2";
  all[1].facts.facts["memory.total"] = "503 GiB";
  EXPECT_EQ(describe(all, false), std::vector<std::string>{"0 kernel.release"});
}

TEST(BringUpHosts, AClockIsComparedWithPresentOnes) {
  std::vector<Answered> all{host(0, "1 GiB", 5), accepted(host(1, "1 GiB"), false), accepted(host(2, "1 GiB"), true)};
  EXPECT_EQ(describe(all), std::vector<std::string>{"0 clock"});
  all[0].clock_s = 0;
  all[1].clock_s = 5;  // the partner's is off, and the collector's agrees with the repaired one's
  EXPECT_TRUE(describe(all).empty());
  all[0].clock_s = 5;  // the collector's own
  EXPECT_TRUE(describe(all).empty());
}

TEST(BringUpHosts, OneMachineUnderTwoNames) {
  std::vector<Answered> all{host(0, "1 GiB"), host(1, "1 GiB"), host(2, "1 GiB")};
  EXPECT_TRUE(same_machines(all).empty());
  all[2].facts.machine = "m0";
  ASSERT_EQ(same_machines(all).size(), 1u);
  EXPECT_EQ(same_machines(all)[0].host, 2u);
}

/// What same_addresses() says of these hosts: "1 IP address 10.0.0.2 is also an address of n2".
std::vector<std::string> shared(const std::vector<HostAddresses>& of_hosts) {
  std::vector<Answered> all;
  for (const HostAddresses& addresses : of_hosts) {
    all.push_back(host(all.size(), "1 GiB"));
    all.back().facts.addresses = addresses;
  }
  std::vector<std::string> out;
  for (const Difference& one : same_addresses(all)) {
    EXPECT_TRUE(one.fault);
    out.push_back(fmt::format("{} {}", one.host, one.reported));
  }
  return out;
}

TEST(BringUpHosts, TwoOrThreeHostsWithOneAddressAreNamed) {
  const auto at = [](unsigned number) { return HostAddresses{{"eth0", fmt::format("10.0.0.{}", number)}}; };
  EXPECT_TRUE(shared({at(1), at(2), at(3), {}, {}}).empty());
  EXPECT_EQ(shared({at(1), at(2), at(2), at(4)}),
            (std::vector<std::string>{"1 IP address 10.0.0.2 is also an address of n2",
                                      "2 IP address 10.0.0.2 is also an address of n1"}));
  EXPECT_EQ(shared({at(1), at(1)}).size(), 2u);
  EXPECT_EQ(shared({at(2), at(2), at(3), at(2), at(5), at(6)}),
            (std::vector<std::string>{"0 IP address 10.0.0.2 is also an address of n[1,3]",
                                      "1 IP address 10.0.0.2 is also an address of n[0,3]",
                                      "3 IP address 10.0.0.2 is also an address of n[0-1]"}));
  EXPECT_EQ(shared({at(1), at(1), at(1), at(1), at(1)}).size(), 5u) << "an image that was copied";
}

/// Of most hosts beside an address of their own: a network inside each of them, as to its management controller.
TEST(BringUpHosts, AnAddressThatMostHostsShareIsNoFault) {
  std::vector<HostAddresses> all;
  for (unsigned number = 1; number <= 6; ++number)
    all.push_back({{"eth0", fmt::format("10.0.0.{}", number)}, {"bmc0", "192.168.31.2"}});
  EXPECT_TRUE(shared(all).empty());
  all[3][0].address = "10.0.0.2";
  EXPECT_EQ(shared(all).size(), 2u + 6u) << "two of them have none of their own";
}

TEST(BringUpHosts, AnAddressOfFewHostsIsAFaultWhereHostsMeetByIt) {
  std::vector<HostAddresses> all;
  for (unsigned number = 1; number <= 4; ++number) all.push_back({{"eth0", fmt::format("10.0.0.{}", number)}});
  for (const std::size_t host : {1u, 3u}) all[host].push_back({"bmc0", "192.168.31.2"});
  EXPECT_TRUE(shared(all).empty()) << "inside of each";
  all[0].push_back({"bmc0", "172.16.0.1"});
  EXPECT_EQ(shared(all).size(), 2u) << "the interface has another address elsewhere";
  all[0].back() = {"other", "192.168.31.7"};
  EXPECT_EQ(shared(all).size(), 2u) << "another host is in the subnet";
}

/// Pairs of all of these nodes; nodes from `first_slow` on are slow.
Record halves(const std::string& hosts, unsigned first_slow, double slow = 11.7e6) {
  Record record = record_of(hosts);
  Evidence evidence(topologies_of(record), {.every_link = true});
  record.sessions.emplace_back();
  const auto nodes = static_cast<unsigned>(record.nodes.size());
  const auto judge_it = [&](bool done) { judge(record, {evidence, {}, std::vector<bool>(nodes, true), done}); };
  for (Round round = evidence.next(); !round.empty(); round = evidence.next()) {
    RoundRecord done;
    for (const auto& [a, b] : round) {
      const double rate = (std::max(a, b) >= first_slow ? slow : 35.9e6) * (1 + 0.002 * ((3 * a + 5 * b) % 7));
      done.pairs.push_back({a, b, 0, {rate, rate}, {}, 1e-4, 1e-4, 1e-4});
    }
    evidence.add(done.pairs);
    record.sessions.back().rounds.push_back(done);
    judge_it(false);
  }
  judge_it(true);
  return record;
}

TEST(BringUpHosts, HalfOfTheNodesSlowIsNoPass) {
  Record half = halves("a\nb\nc\nd\n", 2);
  EXPECT_EQ(half.word, Outcome::inconclusive) << half.sentence;
  EXPECT_NE(half.sentence.find("a to b is 3."), std::string::npos) << half.sentence;
  EXPECT_EQ(half.nodes_that_are(NodeState::accepted), 0u);
  half.again = "headrace bringup --out x";
  EXPECT_EQ(next_steps(half).at(0).command, "headrace doctor --expect");
  EXPECT_EQ(concluded_from(record_json(half), "x.json").doubt, half.doubt);
  EXPECT_EQ(halves("a\nb\nc\nd\n", 4).word, Outcome::pass);
  EXPECT_EQ(halves("a\nb\nc\nd\n", 2, 30e6).word, Outcome::pass) << "1.2 times is not far above";
  EXPECT_EQ(halves("a\nb\nc\nd\ne\n", 3).word, Outcome::fail) << "two of five";
}

/// Of four nodes the pairs a-b, a-c...; all usual, but for the first.
Record with_first(std::vector<double> first, const std::string& hosts = "a\nb\nc\nd\n", double noise = 0.01) {
  Record record = record_of(hosts);
  record.usual_rate = {1e9};
  RoundRecord& round = record.sessions.emplace_back().rounds.emplace_back();
  const auto add = [&](unsigned a, unsigned b, double times) {
    round.pairs.push_back({a, b, 0, {1e9 * times, 1e9 * times}, {}, 1e-4, 1e-4, 1e-4});
  };
  for (const double times : first) add(0, 1, times);
  for (unsigned b = 1; b < 4; ++b)
    for (unsigned a = 0; a < b; ++a)
      if (b > 1) add(a, b, 1 + noise * (static_cast<double>(b) - 2 * a));
  return record;
}

TEST(BringUpHosts, AFastPairIsFarAboveNoiseAndUsual) {
  EXPECT_TRUE(fast_pair(with_first({2})));
  EXPECT_FALSE(fast_pair(with_first({1.4})));
  EXPECT_FALSE(fast_pair(with_first({2}, "a\nb\nc\nd\n", 0.1))) << "within the noise";
  EXPECT_FALSE(fast_pair(with_first({1, 2, 1}))) << "once of three times";
  EXPECT_TRUE(fast_pair(with_first({2, 1, 2})));
  EXPECT_FALSE(fast_pair(with_first({1.4}, "a\nb\nc\nd\n", 0.001)));
  EXPECT_TRUE(fast_pair(with_first({1.6}, "a\nb\nc\nd\n", 0.001)));
  Record turned = with_first({2, 1, 2});
  std::swap(turned.sessions[0].rounds[0].pairs[1].a, turned.sessions[0].rounds[0].pairs[1].b);
  EXPECT_TRUE(fast_pair(turned)) << "the same pair";
}

TEST(BringUpHosts, ARailWithoutAUsualRateHasNoFastPair) {
  Record record = with_first({1});
  record.usual_rate = {1e9, 0};
  for (PairMeasured& one : record.sessions[0].rounds[0].pairs) one.rail = 1;
  record.sessions[0].rounds.push_back(with_first({1}).sessions[0].rounds[0]);
  EXPECT_FALSE(fast_pair(record));
}

TEST(BringUpHosts, AFastSwitchExplainsPairsAsFastAsOthersOfIt) {
  for (const auto& [others, fast] : {std::pair(1.3, true), std::pair(1.4, false)}) {
    Record record = with_first({2}, "a rack=s\nb rack=s\nc rack=s\nd rack=s\n", 0);
    auto& pairs = record.sessions[0].rounds[0].pairs;
    for (std::size_t i = 1; i < pairs.size(); ++i) pairs[i].rate.fill(1e9 * others);
    EXPECT_EQ(fast_pair(record).has_value(), fast) << others;
  }
}

TEST(BringUpHosts, EachRailHasItsOwnUsualRate) {
  Record record = with_first({1});
  record.usual_rate = {1e9, 4e9};
  RoundRecord& round = record.sessions.back().rounds.back();
  for (PairMeasured one : std::vector(round.pairs)) {
    one.rail = 1;
    for (double& rate : one.rate) rate *= 4;
    round.pairs.push_back(one);
  }
  EXPECT_FALSE(fast_pair(record));
  for (double& rate : round.pairs.back().rate) rate *= 2;  // c and d, and both are slow with others
  const std::optional<FastPair> fast = fast_pair(record);
  ASSERT_TRUE(fast);
  EXPECT_EQ(std::tuple(fast->a, fast->b, fast->rail), std::tuple(2u, 3u, 1u));
  EXPECT_NEAR(fast->times, 2, 0.05);
}

/// Pairs within each half are twice as fast as others, as behind two switches that the hosts file does not name.
TEST(BringUpHosts, FastPairsOfSeveralGroupsAreNoDoubt) {
  Record record = record_of("a\nb\nc\nd\ne\nf\n");
  record.usual_rate = {1e9};
  RoundRecord& round = record.sessions.emplace_back().rounds.emplace_back();
  for (unsigned b = 1; b < 6; ++b)
    for (unsigned a = 0; a < b; ++a) {
      const double rate = (a < 3) == (b < 3) ? 2e9 : 1e9 + 1e6 * a;
      round.pairs.push_back({a, b, 0, {rate, rate}, {}, 1e-4, 1e-4, 1e-4});
    }
  EXPECT_FALSE(fast_pair(record));
  for (PairMeasured& one : round.pairs)  // now only a, b and c are fast
    if (one.a >= 3) one.rate[0] = one.rate[1] = 1e9;
  EXPECT_TRUE(fast_pair(record));
}

TEST(BringUpHosts, AFastPairOfManyNodesIsNoDoubt) {
  Record record = with_first({2});
  for (unsigned node = 4; node < 10; ++node) {
    record.nodes.push_back(record.nodes[3]);
    for (unsigned other = 0; other < node; ++other)
      record.sessions.back().rounds.back().pairs.push_back({other, node, 0, {1e9, 1e9}, {}, 1e-4, 1e-4, 1e-4});
    EXPECT_EQ(fast_pair(record).has_value(), node < 6) << "two of " << node + 1 << " may be on one machine";
  }
}

TEST(BringUpHosts, PairsWithinASwitchMayBeFast) {
  EXPECT_FALSE(fast_pair(with_first({2}, "a switch=s\nb switch=s\nc switch=t\nd switch=t\n")));
  EXPECT_TRUE(fast_pair(with_first({2}, "a switch=s\nb switch=t\nc switch=s\nd switch=t\n")));
  EXPECT_TRUE(fast_pair(with_first({2}, "a rack=s\nb rack=s\nc rack=s\nd rack=s\n"))) << "slower with others of it";
}

double uniform(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

/// A fleet whose pairs are usual but for what `spoil` changes; measured as the search asks.
template <class Spoil>
Evidence searched(unsigned nodes, const SearchOptions& options, Spoil spoil) {
  Evidence evidence({Topology{.nodes = nodes, .rails = 1, .switch_of = {}}}, options);
  Random random(options.seed);
  for (Round round = evidence.next(); !round.empty(); round = evidence.next()) {
    std::vector<PairMeasured> measured;
    for (const auto& [a, b] : round) {
      PairMeasured one{a, b, 0, {}, {}};
      for (double& rate : one.rate) rate = 1e9 * (1 + 0.03 * (uniform(random) - 0.5));
      one.latency_s = 30e-6 * (1 + 0.5 * uniform(random));
      spoil(one, random);
      measured.push_back(one);
    }
    evidence.add(measured);
  }
  return evidence;
}

/// Node 3 has what is `wrong`.
Evidence searched(unsigned nodes, Quality wrong, bool any, std::uint64_t seed) {
  return searched(nodes, {.seed = seed}, [&](PairMeasured& one, Random& random) {
    const bool bad = any && (one.a == 3 || one.b == 3);
    if (uniform(random) < 0.02) one.resent[0] = 0.002;
    if (bad && wrong == Quality::rate) one.rate[1] *= 0.85;
    if (bad && wrong == Quality::latency) one.latency_s += 1e-3;
    if (bad && wrong == Quality::resent) one.resent[1] = 0.02 * uniform(random);
  });
}

/// A search of nodes whose pairs have these rates.
template <class Rate>
Search searched_links(unsigned nodes, std::uint64_t seed, Rate rate, bool every_link = true) {
  Search search({nodes, 1, {}}, {.every_link = every_link, .seed = seed});
  Random random(seed);
  for (Round round = search.next(); !round.empty(); round = search.next()) {
    std::vector<PairRate> measured;
    for (const auto& [a, b] : round) measured.push_back({a, b, 0, rate(a, b, random)});
    search.add(measured);
  }
  return search;
}

TEST(BringUpHosts, EachQualityAccuses) {
  for (const Quality wrong : kQualities)
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Evidence evidence = searched(64, wrong, true, seed);
      const std::vector<Fault> faults = evidence.faults();
      ASSERT_EQ(faults.size(), 1u) << to_string(wrong) << seed;
      EXPECT_EQ(faults[0].scope, Finding::Scope::node);
      EXPECT_EQ(faults[0].a, 3u);
      EXPECT_EQ(faults[0].in, std::vector<Quality>{wrong});
      EXPECT_EQ(evidence.node(3), PartState::accused);
    }
}

/// Bursts that a lossy cable dropped, as measured for half a second each: a third of the pairs with it show none.
TEST(BringUpHosts, ACableThatDropsBurstsIsFound) {
  constexpr std::array kResent{0.0144, 0.0077, 0.0049, 0.0417, 0.0, 0.0342, 0.0119, 0.0, 0.0169, 0.0, 0.0};
  constexpr unsigned kSeeds = 30;
  for (const unsigned nodes : {6u, 40u}) {
    std::map<PartState, unsigned> lossy, sound;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
      for (const bool bad : {true, false}) {
        const SearchOptions options{.every_link = nodes == 6, .seed = seed};
        const Evidence evidence = searched(nodes, options, [&](PairMeasured& one, Random& random) {
          const double share = kResent[random.next() % kResent.size()];
          if (bad ? one.a == 3 || one.b == 3 : uniform(random) < 0.05) one.resent[0] = share;
        });
        for (unsigned node = 0; node < nodes; ++node) ++(bad && node == 3 ? lossy : sound)[evidence.node(node)];
        for (const Fault& fault : evidence.faults())
          EXPECT_TRUE(bad && fault.scope == Finding::Scope::node && fault.a == 3) << seed << " " << nodes;
      }
    EXPECT_GE(lossy[PartState::accused], kSeeds * 4 / 5);
    EXPECT_LE(lossy[PartState::cleared], kSeeds / 10);
    EXPECT_EQ(sound[PartState::accused], 0u);
    EXPECT_LE(sound[PartState::undecided], sound[PartState::cleared] / 200);
  }
}

/// One rate in six is low for once, as on machines that stop: a link at half of the usual rate is found, or left open.
TEST(BringUpHosts, ManyLowRatesHideNoSlowLink) {
  constexpr unsigned kSeeds = 40;
  unsigned found = 0, others = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Search search = searched_links(8, seed, [](unsigned a, unsigned b, Random& random) {
      const bool slow = std::minmax(a, b) == std::minmax(1u, 4u);
      const double once = uniform(random) < 1.0 / 6 ? 0.05 + 0.85 * uniform(random) : 1;
      return 5e6 * (slow ? 0.53 : 1) * once * (1 + 0.06 * uniform(random));
    });
    bool named = false;
    for (const Finding& one : search.findings()) {
      const bool right = one.scope == Finding::Scope::link && one.a == 1 && one.b == 4;
      named = named || right;
      others += !right;
    }
    found += named;
    for (const unsigned node : {1u, 4u}) EXPECT_TRUE(named || search.node(node) == PartState::undecided) << seed;
  }
  EXPECT_GE(found, kSeeds * 2 / 3);
  EXPECT_LE(others, 1u);
}

TEST(BringUpHosts, ANearlyTotalLossIsFoundInQuietData) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const double left : {0.05, 0.001}) {
      const Search search = searched_links(8, seed, [left](unsigned a, unsigned b, Random& random) {
        return (a == 2 || b == 2 ? left : 1) * (1 + 0.002 * uniform(random));
      });
      ASSERT_EQ(search.findings().size(), 1u) << seed << " " << left;
      EXPECT_EQ(search.findings()[0].a, 2u);
      EXPECT_TRUE(search.undecided().empty()) << seed << " " << left;
      EXPECT_LE(search.rounds(), 12u);
    }
}

TEST(BringUpHosts, AFasterNodeMakesNoneSlow) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const unsigned nodes : {8u, 64u}) {
      const auto rate = [](unsigned a, unsigned b, Random& random) {
        return (a == 2 || b == 2 ? 1.1 : 1) * (1 + 0.04 * uniform(random));
      };
      const Search search = searched_links(nodes, seed, rate, nodes == 8);
      EXPECT_TRUE(search.findings().empty()) << seed << " " << nodes;
      EXPECT_TRUE(search.undecided().empty()) << seed << " " << nodes;
    }
}

TEST(BringUpHosts, SoundFabricsHaveNoAccused) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_TRUE(searched(64, Quality::rate, false, seed).faults().empty()) << seed;
}

TEST(BringUpHosts, EveryLinkIsMetOnRequestButThoseThatCannot) {
  SearchOptions options;
  options.every_link = true;
  Search search({10, 1, {}}, options);
  search.avoid(7, 2);
  std::vector<PairRate> measured;
  unsigned rounds = 0;
  for (Round round = search.next(); !round.empty(); round = search.next(), ++rounds) {
    measured.clear();
    for (const auto& [a, b] : round) {
      EXPECT_NE(std::make_pair(a, b), std::make_pair(2u, 7u));
      measured.push_back({a, b, 0, 1e9});
    }
    search.add(measured);
  }
  unsigned met = 0;
  for (unsigned a = 0; a < 10; ++a)
    for (unsigned b = a + 1; b < 10; ++b) met += search.posterior().meetings(a, b) > 0;
  EXPECT_EQ(met, 44u);
  EXPECT_LE(rounds, 15u);
}

TEST(BringUpHosts, ASlowLinkIsFoundIfEveryLinkIsMet) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const double loss : {0.12, 0.5}) {
      SearchOptions options;
      options.every_link = true;
      options.seed = seed;
      Search search({8, 1, {}}, options);
      Random random(seed);
      std::vector<PairRate> measured;
      for (Round round = search.next(); !round.empty(); round = search.next()) {
        measured.clear();
        for (const auto& [a, b] : round) {
          double rate = 1 + 0.08 * (uniform(random) - 0.5);
          if (a == 1 && b == 4) rate *= 1 - loss;
          measured.push_back({a, b, 0, rate});
        }
        search.add(measured);
      }
      ASSERT_EQ(search.findings().size(), 1u) << seed << " " << loss;
      EXPECT_EQ(search.findings()[0].scope, Finding::Scope::link);
      EXPECT_EQ(search.findings()[0].a, 1u);
      EXPECT_EQ(search.findings()[0].b, 4u);
    }
}

Record small_record() {
  Record record;
  record.headrace = "1";
  for (const char* name : {"a", "b", "c"}) {
    record.nodes.emplace_back().host = {name, "r1", "", {"e0"}};
    record.nodes.back().state = NodeState::accepted;
  }
  record.sessions.push_back(
      {"2026-01-31T12:00:00Z", {}, {{1.5, {{0, 1, 0, {1, 2}, {0, 0.5}, 3, 4, 5}}, {{1, 2, 0, "x"}}}}});
  record.sessions.push_back({"2026-01-31T13:00:00Z", {1}, {}});
  return record;
}

TEST(BringUpHosts, ARecordIsReadAsItWasWritten) {
  const std::string text = record_json(small_record());
  EXPECT_EQ(record_json(record_from(text, "x.json")), text);
  EXPECT_THROW(record_from("{\"kind\": \"headrace.fleet\"}", "x.json"), UsageError);
  std::string wrong = text;
  for (const char* option : {"\"no_rdma\"", "\"pairs_only\""}) wrong.replace(wrong.find(option) + 1, 1, "_");
  EXPECT_EQ(record_json(record_from(wrong, "x.json")), text) << "older records have neither";
  wrong = text;
  wrong.replace(wrong.find("[0, 1]"), 6, "[0, 3]");
  EXPECT_THROW(record_from(wrong, "x.json"), UsageError);
  wrong = text;
  const std::size_t at = wrong.rfind("accepted");
  wrong.replace(at, 8, "accptd");
  std::string reported;
  try {
    record_from(wrong, "x.json");
  } catch (const UsageError& e) {
    reported = e.what();
  }
  const std::size_t last = wrong.rfind('\n', at);
  EXPECT_EQ(
      reported.substr(0, reported.find(" (one of new, suspect,")),
      fmt::format("x.json:{}:{}: nodes[2].state: 'accptd' is no state of a node",
                  std::count(wrong.begin(), wrong.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1, at - last - 1));
  EXPECT_NE(reported.find("did you mean 'accepted'?"), reported.npos) << reported;
}

TEST(BringUpHosts, AResultThatIsShownAgainHasItsReasons) {
  Record faulty = small_record();
  faulty.nodes[1].state = NodeState::confirmed;
  NamedFault& fault = faulty.faults.emplace_back();
  fault.scope = "node";
  fault.subject = "b";
  fault.fault.scope = Finding::Scope::node;
  fault.fault.a = 1;
  fault.fault.in = {Quality::latency, Quality::resent};
  fault.brief = "no connections";
  const std::string text = record_json(faulty);
  EXPECT_NE(text.find("reason='headrace: latency, resent, no connections'"), text.npos) << text;
  EXPECT_EQ(record_json(concluded_from(text, "x.json")), text);
}

/// Of node 1 in each session: passed, failed, or was not measured; how many passes in a row are still wanted, 0: it does not
/// flap.
unsigned wanted_after(const std::string& sessions) {
  Record record = small_record();
  record.sessions.clear();
  for (const char what : sessions) {
    SessionRecord& one = record.sessions.emplace_back();
    one.passed = {0};
    if (what == 'p') one.passed.push_back(1);
    if (what == 'f') one.failed[1] = "slow";
  }
  const auto flaps = flapping(record_from(record_json(record), "x.json"), 1);
  return flaps ? flaps->left : 0;
}

TEST(BringUpHosts, PassFailPassIsFlapping) {
  EXPECT_EQ(wanted_after("pfp"), 1u);
  EXPECT_EQ(wanted_after("p-f-p-"), 1u);  // not measured is no pass
  EXPECT_EQ(wanted_after("pfpp"), 0u);
  EXPECT_EQ(wanted_after("pfpfp"), 2u);
  EXPECT_EQ(wanted_after("pfpfpp"), 1u);
  EXPECT_EQ(wanted_after("pfpfppp"), 0u);
  for (const char* sound : {"", "p", "pp", "fp", "ffp", "fpp", "-fp"}) EXPECT_EQ(wanted_after(sound), 0u) << sound;
  EXPECT_EQ(wanted_after("pf"), 0u);  // it is bad, and named for that
}

TEST(BringUpHosts, NextStepsFollowFromTheStates) {
  Record record = small_record();
  record.nodes.emplace_back().host.name = "d";
  record.nodes.back().state = NodeState::accepted;
  const auto next = [&] {
    std::vector<std::string> commands;
    for (const Step& step : next_steps(record)) commands.push_back(step.command);
    return commands;
  };
  record.again = "headrace bringup --out x";
  EXPECT_TRUE(next().empty());  // all are accepted
  record.nodes[1].state = NodeState::confirmed;
  EXPECT_EQ(next(), (std::vector<std::string>{"headrace bringup --out x --retest b"}));
  record.nodes[0].state = NodeState::suspect;
  EXPECT_EQ(next().front(), "headrace bringup --out x --resume");
  record.running = true;
  EXPECT_TRUE(next().empty());
  record.running = false;
  record.signal = 2;  // who was interrupted goes on first
  EXPECT_EQ(next(), (std::vector<std::string>{"headrace bringup --out x --resume"}));
  record.nodes[2].missing.why = "gone";
  using States = std::vector<std::pair<std::string, std::string>>;
  const States states{{"suspect", "a"}, {"confirmed", "b"}, {"accepted", "d"}, {"missing", "c"}};
  EXPECT_EQ(nodes_by_state(record), states);
  record.nodes[1].missing.why = "gone";  // it stays bad
  EXPECT_EQ(nodes_by_state(record), states);
}

TEST(BringUpHosts, NextStepsCanWork) {
  Record record = small_record();
  record.again = "headrace bringup --out x";
  record.hosts_file = "my hosts";
  const auto last = [&] { return next_steps(record).back().command; };
  record.nodes[1].state = NodeState::suspect;
  EXPECT_EQ(last(), "headrace bringup --out x --hosts 'my hosts' --resume") << "more rounds decide nothing of three";
  record.nodes.emplace_back().host.name = "d";
  EXPECT_EQ(last(), "headrace bringup --out x --resume");
  for (NodeRecord& node : record.nodes) node.state = NodeState::suspect;
  record.nodes[1].state = NodeState::confirmed;
  EXPECT_EQ(last(), "headrace bringup --out x --hosts 'my hosts' --resume") << "none is accepted to be a partner";
}

/// The hosts file may be wrong: nothing is drained, and it is read again.
TEST(BringUpHosts, ATypoInTheHostsFileDrainsNoNode) {
  Record record = small_record();
  record.again = "headrace bringup --out x";
  record.hosts_file = "hosts";
  record.nodes[1].state = NodeState::confirmed;
  NamedFault own{{Finding::Scope::node, 1, 0, 0, 0, {}}, "node", "b", "it fails by itself: no e9", "correct it"};
  own.brief = "fails by itself";
  record.faults.push_back(own);
  EXPECT_EQ(commands_for(record, Scheduler::slurm).drain.size(), 1u) << "its card is gone: the others have that name";
  record.nodes[1].host.rails = {"e9"};
  EXPECT_TRUE(commands_for(record, Scheduler::slurm).drain.empty());
  EXPECT_TRUE(commands_for(record, Scheduler::kubernetes).nodes.empty());
  EXPECT_EQ(next_steps(record).back().command, "headrace bringup --out x --hosts hosts --retest b");
  own.brief = "";
  record.faults.push_back(own);
  EXPECT_EQ(commands_for(record, Scheduler::slurm).drain.size(), 1u) << "it is bad besides";
}

/// Neither more rounds nor waiting changes a second name of a machine.
TEST(BringUpHosts, ASecondNameOfAMachineIsNotResumed) {
  Record record = small_record();
  record.again = "headrace bringup --out x";
  record.nodes[2].state = NodeState::suspect;
  record.nodes[2].missing = {"is the same machine as a", "remove a or c from the hosts file", false, true};
  const Record again = record_from(record_json(record), "x.json");
  EXPECT_TRUE(again.nodes[2].missing.duplicate);
  EXPECT_FALSE(again.nodes[1].missing.duplicate);
  EXPECT_TRUE(next_steps(record).empty());
  record.nodes[1].missing.why = "gone";
  ASSERT_EQ(next_steps(record).size(), 1u);
  EXPECT_EQ(next_steps(record)[0].command, "headrace bringup --out x --resume");
}

/// It may be anybody's file: its names go into commands, its numbers into tables.
TEST(BringUpHosts, ARecordWithForeignEntriesIsNotBelieved) {
  const std::string text = record_json(small_record());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string wrong = text;
    const std::size_t at = wrong.find(from);
    EXPECT_NE(at, wrong.npos) << from;
    return wrong.replace(at, from.size(), to);
  };
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"name\": \"a\"", "\"name\": \"-oProxyCommand=touch x\""},
                                                        {"\"name\": \"a\"", "\"name\": \"a;touch x\""},
                                                        {"\"name\": \"a\"", "\"name\": \"b\""},
                                                        {"\"name\": \"a\"", "\"name\": \"\""},
                                                        {"\"rail\": 0", "\"rail\": 1"},
                                                        {"\"rail\": 0", "\"rail\": 4294967296"},
                                                        {"[0, 1]", "[1, 1]"},
                                                        {"\"rate\": [1.0, 2.0]", "\"rate\": [-1, 2]"},
                                                        {"\"rate\": [1.0, 2.0]", "\"rate\": [1e300, 2]"},
                                                        {"\"resent\": [0.0, 0.5]", "\"resent\": [0, 2]"},
                                                        {"\"latency_s\": [3.0, 4.0, 5.0]", "\"latency_s\": [-3, 4, 5]"},
                                                        {"\"streams\": 4", "\"streams\": 4294967297"},
                                                        {"\"time_s\": 1.0", "\"time_s\": -1"},
                                                        {"\"alpha\": 0.01", "\"alpha\": 0"},
                                                        {"\"most_rounds\": 20", "\"most_rounds\": 0"}})
    EXPECT_THROW(record_from(with(from, to), "x.json"), UsageError) << from << to;
}

TEST(BringUpHosts, NamesAreCompressedAsSlurmTakesThem) {
  EXPECT_EQ(compressed({}), "");
  EXPECT_EQ(compressed({"n7"}), "n7");
  EXPECT_EQ(compressed({"n003", "n001", "n002", "login", "n007"}), "login,n[001-003,007]");
  EXPECT_EQ(compressed({"n9", "n10", "n11"}), "n[9,10-11]");
  EXPECT_EQ(compressed({"7", "a-b2.x"}), "7,a-b2.x");
}

TEST(BringUpHosts, OnlyBadNodesAreTakenOutAndOnlyRetestedOnesComeBack) {
  Record record = small_record();
  EXPECT_TRUE(commands_for(record, Scheduler::slurm).drain.empty());
  EXPECT_TRUE(commands_for(record, Scheduler::slurm).resume.empty());
  record.nodes[0].state = NodeState::suspect;
  record.nodes[1].state = NodeState::confirmed;
  record.nodes[2].state = NodeState::retested;
  record.nodes[2].taken_out = true;
  record.faults.push_back(
      {{Finding::Scope::node, 1, 0, 0, 0, {Quality::rate}}, "node", "b", "it's <slow>", "mend", 0.1});
  record.faults.push_back({{Finding::Scope::link, 0, 2, 0, 0, {Quality::rate}}, "link", "a to c", "x", "y", 0.2});
  record.nodes[0].missing = {"dead", "look"};
  const Commands slurm = commands_for(record, Scheduler::slurm);
  EXPECT_EQ(slurm.drain, std::vector<std::string>{"scontrol update nodename=b state=drain reason='headrace: rate'"});
  EXPECT_EQ(slurm.resume, std::vector<std::string>{"scontrol update nodename=c state=resume"});
  const Commands kubernetes = commands_for(record, Scheduler::kubernetes);
  EXPECT_EQ(kubernetes.drain, std::vector<std::string>{"kubectl taint nodes b headrace=bad:NoSchedule --overwrite"});
  EXPECT_EQ(kubernetes.resume, std::vector<std::string>{"kubectl taint nodes c headrace=bad:NoSchedule-"});
  const std::string junit = junit_xml(record);
  EXPECT_NE(junit.find("tests=\"4\" failures=\"2\" errors=\"1\""), junit.npos) << junit;
  EXPECT_NE(junit.find("it&apos;s &lt;slow&gt;. Next: mend"), junit.npos) << junit;
  const std::string prometheus = prometheus_text(record);
  EXPECT_NE(prometheus.find("headrace_bringup_node{node=\"b\",state=\"confirmed\",missing=\"no\"} 1\n"),
            prometheus.npos);
  EXPECT_NE(prometheus.find("headrace_bringup_fault{scope=\"link\",subject=\"a to c\"} 0.2\n"), prometheus.npos);
}

TEST(BringUpHosts, ANodeThatAnAdministratorMayHaveDrainedIsNotResumed) {
  Record record = small_record();
  for (const unsigned node : {0, 1}) record.nodes[node].state = NodeState::retested;
  record.nodes[0].taken_out = true;
  record = record_from(record_json(record), "x.json");
  const Commands slurm = commands_for(record, Scheduler::slurm),
                 kubernetes = commands_for(record, Scheduler::kubernetes);
  EXPECT_EQ(slurm.resume, std::vector<std::string>{"scontrol update nodename=a state=resume"});
  EXPECT_EQ(slurm.resume_others, std::vector<std::string>{"scontrol update nodename=b state=resume"});
  EXPECT_EQ(kubernetes.resume, std::vector<std::string>{"kubectl taint nodes a headrace=bad:NoSchedule-"});
  EXPECT_EQ(kubernetes.resume_others, std::vector<std::string>{"kubectl taint nodes b headrace=bad:NoSchedule-"});
  EXPECT_EQ(slurm.all_resume().size(), 2u) << "the user sees both";
  record.simulated = "3 nodes";
  EXPECT_TRUE(commands_for(record, Scheduler::slurm).all_resume().empty());
  // Earlier versions wrote the state alone.
  record.nodes[0].taken_out = false;
  record.nodes[0].state = NodeState::drained;
  const Record old = record_from(record_json(record), "x.json");
  EXPECT_TRUE(old.nodes[0].taken_out && !old.nodes[1].taken_out);
}

TEST(BringUpHosts, UnreachableNodesAreTakenOutUnlessHalfOfAllAre) {
  Record record = small_record();
  record.nodes[0].missing = {"cannot be reached", "look", true};
  const Commands slurm = commands_for(record, Scheduler::slurm);
  EXPECT_EQ(slurm.nodes, std::vector<unsigned>{0});
  EXPECT_EQ(slurm.drain,
            std::vector<std::string>{"scontrol update nodename=a state=down reason='headrace: unreachable'"});
  EXPECT_EQ(commands_for(record, Scheduler::kubernetes).drain,
            std::vector<std::string>{"kubectl taint nodes a headrace=bad:NoSchedule --overwrite"});
  record.nodes[0].missing.unreachable = false;  // another version of headrace is there
  EXPECT_TRUE(commands_for(record, Scheduler::slurm).drain.empty());
  record.nodes[0].missing.unreachable = record.nodes[1].missing.unreachable = true;
  record.nodes[1].missing.why = "cannot be reached";
  EXPECT_TRUE(commands_for(record, Scheduler::slurm).drain.empty());
}

TEST(BringUpHosts, MeasurementsBeforeARepairCountNoMore) {
  const Record record = small_record();
  const Replay replay(record);
  EXPECT_FALSE(replay.counts(0, {0, 1, 0, {}, {}}));
  EXPECT_TRUE(replay.counts(0, {0, 2, 0, {}, {}}));
  EXPECT_TRUE(replay.counts(1, {0, 1, 0, {}, {}}));
}

}  // namespace
}  // namespace headrace::bringup::bringup_hosts_test
