// What pairs of a bring-up that could not be connected say of its nodes, NICs, links and rails.
#include "harness/bringup/blame/unreached.h"
#include "harness/bringup/network/tcp_pair.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <numeric>

#include "harness/base/error.h"
#include "harness/bringup/blame/fault_words.h"
#include "tests/unit/bringup_record.h"

namespace headrace::bringup::bringup_unreached_test {
namespace {

/// Does a call of the first reach the second over the rail?
using Reaches = std::function<bool(unsigned from, unsigned to, unsigned rail)>;

struct Cluster {
  Record record;
  Reaches reaches = [](unsigned, unsigned, unsigned) { return true; };
  std::set<std::pair<unsigned, unsigned>> broken_agents{};  // nodes and rails
  std::string why = "no way there";
};

Cluster cluster(unsigned nodes, unsigned rails = 1) {
  std::string hosts;
  for (unsigned node = 0; node < nodes; ++node) {
    hosts += fmt::format("n{}", node);
    for (unsigned rail = 0; rails > 1 && rail < rails; ++rail)
      hosts += fmt::format("{}e{}", rail == 0 ? " rail=" : ",", rail);
    hosts += "\n";
  }
  Cluster made{record_of(hosts)};
  made.record.sessions.emplace_back();
  return made;
}

std::vector<unsigned> all_of(const Record& record) {
  std::vector<unsigned> nodes(record.nodes.size());
  std::iota(nodes.begin(), nodes.end(), 0u);
  return nodes;
}

/// One meeting, as a round records it.
void meet(const Cluster& of, Unreached& unreached, unsigned a, unsigned b, unsigned rail) {
  FailedPair failed{a, b, rail, of.why};
  for (const unsigned node : {a, b})
    if (of.broken_agents.contains({node, rail})) failed.own.push_back(node);
  if (!failed.own.empty()) return unreached.failed(failed);
  const unsigned caller = unreached.caller(a, b, rail), called = caller == a ? b : a;
  failed.caller = caller;
  if (!of.reaches(caller, called, rail)) return unreached.failed(failed);
  PairMeasured one{a, b, rail, {1e9, 1e9}, {0, 0}, 1e-4, 1e-4, 1e-4};
  one.caller = caller;
  const bool back = of.reaches(called, caller, rail);
  unreached.measured(one, !back);
  failed.caller = called;
  if (!back) unreached.failed(failed);
}

/// Each with each, twice where it failed.
std::vector<Broken> found(const Cluster& of) {
  Unreached unreached(of.record);
  const std::vector<unsigned> nodes = all_of(of.record);
  for (const unsigned a : nodes)
    for (unsigned b = a + 1; b < nodes.size(); ++b)
      for (unsigned rail = 0; rail < std::max<std::size_t>(1, of.record.nodes[0].host.rails.size()); ++rail)
        for (unsigned times = 0; times < kTwice; ++times) meet(of, unreached, a, b, rail);
  return unreached.broken(nodes);
}

/// "node n2", "NIC n2 e1", "link n0 to n1", "rail e1".
std::vector<std::string> titles(const Cluster& of) {
  Record record = of.record;
  std::vector<std::string> all;
  const Evidence evidence({{.nodes = static_cast<unsigned>(record.nodes.size()), .rails = 1, .switch_of = {}}}, {});
  const Judged judged{evidence, found(of), std::vector<bool>(record.nodes.size(), true), true};
  judge(record, judged);
  for (const NamedFault& one : record.faults) all.push_back(one.title());
  EXPECT_TRUE(all.empty() || record.word == Outcome::fail);
  return all;
}

using Titles = std::vector<std::string>;

TEST(BringUpUnreached, AClosedHostIsANodeFaultWhereverItIsInTheHostsFile) {
  for (unsigned nodes = 2; nodes <= 8; ++nodes)
    for (unsigned bad = 0; bad < nodes; ++bad) {
      Cluster of = cluster(nodes);
      of.reaches = [&](unsigned, unsigned to, unsigned) { return to != bad; };
      EXPECT_EQ(titles(of), Titles{fmt::format("node n{}", bad)}) << nodes;
      const Broken one = found(of).at(0);
      EXPECT_EQ(one.why.find("incoming connections are blocked: "), 0u) << one.why;
      EXPECT_NE(one.fix.find("firewall"), std::string::npos) << one.fix;
    }
}

/// As where all nodes have the same firewall, which lets the head node in.
TEST(BringUpUnreached, NodesThatOnlyTheHeadNodeCanCallGetTheSameWordAndNoneOfCables) {
  for (const auto& [nodes, open] : {std::pair(4u, 1u), {6u, 1u}, {5u, 2u}}) {
    Cluster of = cluster(nodes);
    of.reaches = [open = open](unsigned from, unsigned to, unsigned) { return from == 0 || to < open; };
    Titles expected;
    for (unsigned node = open; node < nodes; ++node) expected.push_back(fmt::format("node n{}", node));
    EXPECT_EQ(titles(of), expected) << nodes;
    for (const Broken& one : found(of)) {
      EXPECT_EQ(one.brief, "incoming connections are blocked") << one.why;
      EXPECT_NE(one.fix.find("firewall"), std::string::npos) << one.fix;
    }
  }
}

TEST(BringUpUnreached, IfAllAreClosedTheNetworkIsNamedAndNoNode) {
  for (unsigned nodes = 2; nodes <= 8; ++nodes) {
    Cluster of = cluster(nodes);
    of.reaches = [](unsigned, unsigned, unsigned) { return false; };
    EXPECT_EQ(titles(of), Titles{"network TCP"}) << nodes;
    EXPECT_EQ(found(of).at(0).why, "no host can connect to any other: no way there");
    EXPECT_NE(found(of).at(0).fix.find("firewalls"), std::string::npos);
  }
}

TEST(BringUpUnreached, ANetworkThatLosesFullPacketsDrainsNoNodeEvenIfOnePairGetsThrough) {
  for (unsigned nodes = 4; nodes <= 8; ++nodes) {
    Cluster of = cluster(nodes);
    of.why = std::string(kFullPacketsLost) + ": compare the MTU";
    unsigned calls = 0;  // the second call of the first pair gets through
    of.reaches = [&](unsigned from, unsigned to, unsigned) { return from + to == 1 && ++calls > 1; };
    EXPECT_EQ(titles(of), Titles{"network TCP"}) << nodes;
    calls = 0;
    const Broken one = found(of).at(0);
    EXPECT_EQ(one.why, std::string(kFullPacketsLost) + " between most hosts");
    EXPECT_NE(one.fix.find("MTU"), std::string::npos) << one.fix;
    // One host with another MTU is that host's fault.
    of.reaches = [](unsigned from, unsigned to, unsigned) { return from != 2 && to != 2; };
    EXPECT_EQ(titles(of), Titles{"node n2"}) << nodes;
  }
}

TEST(BringUpUnreached, HealthyHostsAndABrokenLink) {
  EXPECT_EQ(titles(cluster(6)), Titles{});
  Cluster of = cluster(6);
  of.reaches = [](unsigned from, unsigned to, unsigned) { return !((from == 1 && to == 3) || (from == 3 && to == 1)); };
  EXPECT_EQ(titles(of), Titles{"link n1 to n3"});
  of.reaches = [](unsigned from, unsigned to, unsigned) { return from != 3 || to != 1; };
  EXPECT_EQ(titles(of), Titles{"link n1 to n3"});
  EXPECT_EQ(found(of).at(0).why, "n3 cannot connect to n1, the other way works (no way there)");
}

TEST(BringUpUnreached, AnAgentThatFailsByItselfIsNamedAndNoLink) {
  for (unsigned nodes = 2; nodes <= 6; ++nodes)
    for (unsigned bad = 0; bad < nodes; ++bad) {
      Cluster of = cluster(nodes);
      of.broken_agents = {{bad, 0}};
      EXPECT_EQ(titles(of), Titles{fmt::format("node n{}", bad)}) << nodes;
      EXPECT_EQ(found(of).at(0).why, "it fails by itself: no way there");
      EXPECT_NE(found(of).at(0).fix.find("hosts file"), std::string::npos);
    }
  Cluster two = cluster(3);
  two.broken_agents = {{1, 0}, {2, 0}};
  EXPECT_EQ(titles(two), (Titles{"node n1", "node n2"}));
  Cluster all = cluster(4);
  for (unsigned node = 0; node < 4; ++node) all.broken_agents.emplace(node, 0);
  EXPECT_EQ(titles(all), Titles{"network TCP"});
}

TEST(BringUpUnreached, ALimitOfAHostIsRaisedAndTheHostsFileIsRight) {
  for (const std::size_t failing : {1, 4}) {
    Cluster of = cluster(4);
    of.why = "n0: start a thread: " + errno_text(EAGAIN) + "; look at the limits on processes (ulimit -u)";
    for (unsigned node = 0; node < failing; ++node) of.broken_agents.emplace(node, 0);
    EXPECT_NE(found(of).at(0).fix.find("TasksMax="), std::string::npos) << found(of).at(0).fix;
    EXPECT_EQ(found(of).at(0).fix.find("hosts file"), std::string::npos);
  }
}

TEST(BringUpUnreached, AWrongSubnetIsNoMatterOfCables) {
  Cluster of = cluster(5);
  of.reaches = [](unsigned from, unsigned to, unsigned) { return from != 2 && to != 2; };
  EXPECT_EQ(found(of).at(0).fix, "");
  of.why = "10.9.0.3 port 4000: " + errno_text(ENETUNREACH);
  EXPECT_NE(found(of).at(0).fix.find("routes"), std::string::npos) << found(of).at(0).fix;
}

TEST(BringUpUnreached, OneRailOfSeveral) {
  Cluster of = cluster(5, 2);
  of.reaches = [](unsigned, unsigned to, unsigned rail) { return to != 2 || rail != 1; };
  EXPECT_EQ(titles(of), Titles{"NIC n2 e1"});
  of.reaches = [](unsigned, unsigned to, unsigned) { return to != 2; };
  EXPECT_EQ(titles(of), Titles{"node n2"});
  of.reaches = [](unsigned from, unsigned to, unsigned rail) { return rail != 1 || (from != 2 && to != 2); };
  EXPECT_EQ(titles(of), Titles{"NIC n2 e1"});
  of.reaches = [](unsigned, unsigned, unsigned rail) { return rail != 1; };
  EXPECT_EQ(titles(of), Titles{"rail e1"});
  of.reaches = [](unsigned, unsigned, unsigned) { return true; };
  of.broken_agents = {{2, 1}};
  EXPECT_EQ(titles(of), Titles{"NIC n2 e1"});
}

TEST(BringUpUnreached, RolesSwapWhereACallFailed) {
  const Cluster of = cluster(3);
  Unreached unreached(of.record);
  EXPECT_EQ(unreached.caller(0, 1, 0), 1u);  // host 0 is called by one and calls the other
  EXPECT_EQ(unreached.caller(0, 2, 0), 0u);
  unreached.failed({0, 1, 0, "timed out", false, 1});
  EXPECT_EQ(unreached.caller(0, 1, 0), 0u);
  unreached.failed({0, 2, 0, "went silent"});
  EXPECT_EQ(unreached.caller(0, 2, 0), 2u);
}

TEST(BringUpUnreached, ARailIsGivenUpOnceEachNodeHasTriedSeveral) {
  Cluster of = cluster(8);
  of.reaches = [](unsigned, unsigned, unsigned) { return false; };
  Unreached unreached(of.record);
  const auto meet_all = [&](unsigned step) {
    for (unsigned a = 0; a < 8; ++a)
      for (unsigned times = 0; times < kTwice; ++times)
        meet(of, unreached, std::min(a, (a + step) % 8), std::max(a, (a + step) % 8), 0);
  };
  meet_all(1);  // two partners of each
  EXPECT_TRUE(unreached.given_up(all_of(of.record)).empty());
  meet_all(2);
  EXPECT_EQ(unreached.given_up(all_of(of.record)).size(), 8u);
}

TEST(BringUpUnreached, TheCallerIsKept) {
  Record record = cluster(2).record;
  RoundRecord& round = record.sessions.back().rounds.emplace_back();
  round.pairs.push_back({0, 1, 0, {1e9, 1e9}, {0, 0}, 1e-4, 1e-4, 1e-4});
  round.pairs[0].caller = 1;
  round.failed.push_back({0, 1, 0, "timed out", false, 0});
  round.failed.push_back({0, 1, 0, "memlock", false, std::nullopt, {0, 1}});
  const Record read = record_from(record_json(record), "x.json");
  const RoundRecord& kept = read.sessions.back().rounds.back();
  EXPECT_EQ(kept.pairs.at(0).caller, 1u);
  EXPECT_EQ(kept.failed.at(0).caller, 0u);
  EXPECT_EQ(kept.failed.at(1).own, (std::vector<unsigned>{0, 1}));
  EXPECT_FALSE(kept.failed.at(1).caller);
}

}  // namespace
}  // namespace headrace::bringup::bringup_unreached_test
