// Made-up clusters in which some connections fail, tried pair by pair as a bring-up does, and what is said to explain it.
#include "harness/record/connections.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace headrace::connections_test {
namespace {

using Kind = ConnectionFault::Kind;
/// Does a call of the first reach the second?
using Reaches = std::function<bool(unsigned, unsigned)>;

constexpr unsigned kTwice = 2;

bool are(unsigned from, unsigned to, unsigned a, unsigned b) {
  return (from == a && to == b) || (from == b && to == a);
}

/// The one that is called calls back; who cannot call lets the other one call; whatever fails is tried once more.
void meet(Connections& all, unsigned a, unsigned b, const Reaches& reaches) {
  for (unsigned attempt = 0; attempt < kTwice; ++attempt) {
    const unsigned caller = attempt == 1 && !reaches(a, b) ? b : a, called = caller == a ? b : a;
    if (!reaches(caller, called)) {
      all.failed(caller, called, "timed out");
      continue;
    }
    all.worked(caller, called);
    if (reaches(called, caller)) return all.worked(called, caller);
    all.failed(called, caller, "timed out");
  }
}

std::string word(const ConnectionFault& fault) {
  switch (fault.kind) {
    case Kind::closed:
      return fmt::format("{} is closed", fault.a);
    case Kind::cannot_call:
      return fmt::format("{} cannot call", fault.a);
    case Kind::cut_off:
      return fmt::format("{} is cut off", fault.a);
    case Kind::nobody:
      return "nobody";
    case Kind::path:
      return fmt::format("{} {} {}", fault.a, fault.one_way ? "to" : "and", fault.b);
  }
  return "";
}

using Words = std::vector<std::string>;

Words explained(unsigned hosts, const Reaches& reaches) {
  Connections all;
  for (unsigned a = 0; a < hosts; ++a)
    for (unsigned b = a + 1; b < hosts; ++b) meet(all, a, b, reaches);
  std::vector<unsigned> numbers(hosts);
  std::iota(numbers.begin(), numbers.end(), 0u);
  Words words;
  for (const ConnectionFault& fault : all.faults(numbers, kTwice)) words.push_back(word(fault));
  return words;
}

TEST(Connections, IfAllWorksNoneIsNamed) {
  for (unsigned hosts = 1; hosts <= 8; ++hosts)
    EXPECT_EQ(explained(hosts, [](unsigned, unsigned) { return true; }), Words{}) << hosts;
}

TEST(Connections, AClosedHostIsNamedWhereverItIsInTheList) {
  for (unsigned hosts = 2; hosts <= 8; ++hosts)
    for (unsigned bad = 0; bad < hosts; ++bad)
      EXPECT_EQ(explained(hosts, [&](unsigned, unsigned to) { return to != bad; }),
                Words{fmt::format("{} is closed", bad)})
          << hosts << " hosts";
}

TEST(Connections, OnlyTwoClosedHostsAreNamed) {
  for (unsigned hosts = 3; hosts <= 8; ++hosts)
    for (unsigned one = 0; one < hosts; ++one)
      for (unsigned two = one + 1; two < hosts; ++two)
        EXPECT_EQ(explained(hosts, [&](unsigned, unsigned to) { return to != one && to != two; }),
                  (Words{fmt::format("{} is closed", one), fmt::format("{} is closed", two)}))
            << hosts << " hosts";
}

TEST(Connections, IfAllButOneAreClosedThatOneIsNotNamed) {
  for (unsigned hosts = 2; hosts <= 8; ++hosts)
    for (unsigned open = 0; open < hosts; ++open) {
      Words closed;
      for (unsigned host = 0; host < hosts; ++host)
        if (host != open) closed.push_back(fmt::format("{} is closed", host));
      EXPECT_EQ(explained(hosts, [&](unsigned, unsigned to) { return to == open; }), closed) << hosts << " hosts";
    }
}

TEST(Connections, AllClosedIsTheAnswer) {
  for (unsigned hosts = 2; hosts <= 8; ++hosts)
    EXPECT_EQ(explained(hosts, [](unsigned, unsigned) { return false; }), Words{"nobody"}) << hosts;
}

/// Of two hosts the one that is called is named: firewalls let out more often than in.
TEST(Connections, AHostThatCannotCallIsNamed) {
  for (unsigned hosts = 3; hosts <= 8; ++hosts)
    for (unsigned bad = 0; bad < hosts; ++bad)
      EXPECT_EQ(explained(hosts, [&](unsigned from, unsigned) { return from != bad; }),
                Words{fmt::format("{} cannot call", bad)})
          << hosts << " hosts";
}

TEST(Connections, AHostThatIsCutOffIsNamed) {
  for (unsigned hosts = 3; hosts <= 8; ++hosts)
    for (unsigned bad = 0; bad < hosts; ++bad)
      EXPECT_EQ(explained(hosts, [&](unsigned from, unsigned to) { return from != bad && to != bad; }),
                Words{fmt::format("{} is cut off", bad)})
          << hosts << " hosts";
}

TEST(Connections, APathBetweenTwoSoundHostsIsNamedAndNoHost) {
  for (unsigned hosts = 3; hosts <= 8; ++hosts)
    for (unsigned a = 0; a < hosts; ++a)
      for (unsigned b = 0; b < hosts; ++b) {
        if (a == b) continue;
        EXPECT_EQ(explained(hosts, [&](unsigned from, unsigned to) { return from != a || to != b; }),
                  Words{fmt::format("{} to {}", a, b)})
            << hosts << " hosts, one way";
        if (a > b) continue;
        const auto both = [&](unsigned from, unsigned to) { return !are(from, to, a, b); };
        EXPECT_EQ(explained(hosts, both), Words{fmt::format("{} and {}", a, b)}) << hosts << " hosts";
      }
}

TEST(Connections, AHostThatLosesHalfOfItsPartnersIsNamedAndNoPath) {
  const auto loses = [](std::vector<unsigned> partners) {
    return [partners](unsigned from, unsigned to) {
      return std::none_of(partners.begin(), partners.end(), [&](unsigned other) { return are(from, to, 2, other); });
    };
  };
  EXPECT_EQ(explained(5, loses({1, 3, 4})), Words{"2 is cut off"});
  EXPECT_EQ(explained(5, loses({1, 3})), Words{"2 is cut off"});
  EXPECT_EQ(explained(6, loses({1, 3})), (Words{"1 and 2", "2 and 3"}));
  EXPECT_EQ(explained(9, loses({1, 3, 4})), (Words{"1 and 2", "2 and 3", "2 and 4"}));
  Connections once;  // pairs that passed by chance at first
  for (unsigned a = 0; a < 5; ++a)
    for (unsigned b = a + 1; b < 5; ++b) meet(once, a, b, loses({}));
  for (const unsigned other : {0u, 1u, 3u, 4u}) once.failed_both(2, other, "went silent", kTwice);
  const std::vector<ConnectionFault> found = once.faults({0, 1, 2, 3, 4}, kTwice);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(word(found[0]), "2 is cut off");
  EXPECT_EQ(found[0].others, (std::vector<unsigned>{0, 1, 3, 4}));
}

TEST(Connections, AClosedHostHidesNoBrokenPath) {
  EXPECT_EQ(explained(6, [](unsigned from, unsigned to) { return to != 2 && !are(from, to, 4, 5); }),
            (Words{"2 is closed", "4 and 5"}));
}

/// As a firewall that lets the head node in.
TEST(Connections, AHostThatOneOfManyCanCallIsClosed) {
  for (unsigned bad = 1; bad < 6; ++bad)
    EXPECT_EQ(explained(6, [&](unsigned from, unsigned to) { return to != bad || from == 0; }),
              Words{fmt::format("{} is closed", bad)});
}

/// One call, and one back.
void call(Connections& all, unsigned caller, unsigned called, const Reaches& reaches) {
  const bool there = reaches(caller, called), back = there && reaches(called, caller);
  if (!there) all.failed(caller, called, "timed out");
  if (there) all.worked(caller, called);
  if (back) all.worked(called, caller);
  if (there && !back) all.failed(called, caller, "timed out");
}

/// As a bring-up's rounds: pairs that failed once first, then new pairs in random order. Hosts that are named meet nobody
/// else. All words that were ever given of hosts, and the last of pairs.
Words named_in_rounds(unsigned hosts, const Reaches& reaches, unsigned seed) {
  std::mt19937 random(seed);
  Connections all;
  std::vector<unsigned> numbers(hosts);
  std::iota(numbers.begin(), numbers.end(), 0u);
  std::vector<std::pair<unsigned, unsigned>> pairs;
  for (unsigned a = 0; a < hosts; ++a)
    for (unsigned b = a + 1; b < hosts; ++b) pairs.emplace_back(a, b);
  std::shuffle(pairs.begin(), pairs.end(), random);
  std::set<std::string> words;
  std::set<unsigned> given_up;
  while (!pairs.empty()) {
    std::set<unsigned> taken = given_up;
    std::vector<std::pair<unsigned, unsigned>> again, later;
    for (const auto& [a, b] : pairs) {
      if (given_up.contains(a) || given_up.contains(b)) continue;
      if (taken.contains(a) || taken.contains(b)) {
        later.emplace_back(a, b);
        continue;
      }
      taken.insert({a, b});
      const bool swapped = all.fails(a, b);
      call(all, swapped ? b : a, swapped ? a : b, reaches);
      if (all.failures(a, b) == 1) again.emplace_back(a, b);
    }
    for (const ConnectionFault& fault : all.faults(numbers, kTwice)) {
      if (fault.kind == Kind::path || fault.kind == Kind::nobody) continue;
      given_up.insert(fault.a);
      words.insert(word(fault));
    }
    again.insert(again.end(), later.begin(), later.end());
    pairs = std::move(again);
  }
  for (const ConnectionFault& fault : all.faults(numbers, kTwice)) words.insert(word(fault));
  return {words.begin(), words.end()};
}

constexpr unsigned kOrders = 200;

/// A firewall of the whole cluster is no fault of single hosts' cables, in whatever order they meet.
TEST(Connections, HostsThatOnlyTheHeadNodeCanCallAreAllClosed) {
  for (const auto& [hosts, open] : {std::pair(4u, 1u), {6u, 1u}, {5u, 2u}, {9u, 1u}, {9u, 4u}}) {
    Words closed;
    for (unsigned host = open; host < hosts; ++host) closed.push_back(fmt::format("{} is closed", host));
    const Reaches reaches = [open = open](unsigned from, unsigned to) { return from == 0 || to < open; };
    EXPECT_EQ(explained(hosts, reaches), closed) << hosts << " hosts, " << open << " open";
    for (unsigned seed = 0; seed < kOrders; ++seed)
      EXPECT_EQ(named_in_rounds(hosts, reaches, seed), closed) << hosts << " hosts, " << open << " open, " << seed;
  }
}

/// Calls are no matter where data stop, as those of RDMA do.
TEST(Connections, AFailureOfEitherCallClosesNoHost) {
  Connections all;
  for (unsigned host = 1; host < 4; ++host) meet(all, 0, host, [](unsigned, unsigned) { return true; });
  for (unsigned a = 1; a < 4; ++a)
    for (unsigned b = a + 1; b < 4; ++b) all.failed_both(a, b, "went silent", kTwice);
  for (const ConnectionFault& one : all.faults({0, 1, 2, 3}, kTwice)) EXPECT_EQ(one.kind, Kind::path) << word(one);
}

TEST(Connections, AHostThatIsCutOffIsNamedInAnyOrderOfPairs) {
  for (unsigned hosts = 3; hosts <= 9; ++hosts)
    for (unsigned seed = 0; seed < kOrders; ++seed)
      EXPECT_EQ(named_in_rounds(
                    hosts, [](unsigned from, unsigned to) { return from != 1 && to != 1; }, seed),
                Words{"1 is cut off"})
          << hosts << " hosts, " << seed;
}

/// A closed host is given up before all have met it.
TEST(Connections, ACutOffHostIsNamedNextToAClosedOne) {
  for (unsigned hosts = 6; hosts <= 9; ++hosts)
    for (unsigned seed = 0; seed < kOrders; ++seed) {
      const Reaches in = [](unsigned from, unsigned to) { return from != 1 && to != 1 && to != 2; };
      EXPECT_EQ(named_in_rounds(hosts, in, seed), (Words{"1 is cut off", "2 is closed"})) << hosts << ", " << seed;
      const Reaches out = [](unsigned from, unsigned to) { return from != 1 && to != 1 && from != 2; };
      EXPECT_EQ(named_in_rounds(hosts, out, seed), (Words{"1 is cut off", "2 cannot call"})) << hosts << ", " << seed;
    }
}

/// Two pairs in two subnets: nobody is closed, and each lets another one in.
TEST(Connections, TwoSubnetsOfTwoHaveNoNamedHost) {
  const Reaches reaches = [](unsigned from, unsigned to) { return from / 2 == to / 2; };
  for (unsigned seed = 0; seed < kOrders; ++seed)
    for (const std::string& one : named_in_rounds(4, reaches, seed))
      EXPECT_NE(one.find(" and "), std::string::npos) << one << ", " << seed;
}

TEST(Connections, TwoHalvesHaveNoNamedHost) {
  const Words words = explained(6, [](unsigned from, unsigned to) { return from / 3 == to / 3; });
  EXPECT_EQ(words.size(), 9u);
  for (const std::string& one : words) EXPECT_NE(one.find(" and "), std::string::npos) << one;
}

/// Of many hosts few have met: one caller that fails does not close a host, and a caller that reaches nobody is no witness.
TEST(Connections, FewAttemptsAccuseNone) {
  Connections all;
  std::vector<unsigned> hosts(100);
  std::iota(hosts.begin(), hosts.end(), 0u);
  const auto works = [&](unsigned a, unsigned b) { meet(all, a, b, [](unsigned, unsigned) { return true; }); };
  for (unsigned host = 0; host < 100; host += 2) works(host, host + 1);
  EXPECT_TRUE(all.faults(hosts, kTwice).empty());
  const Reaches to_10_fails = [](unsigned, unsigned to) { return to != 10; };
  Connections fresh;
  meet(fresh, 1, 10, to_10_fails);
  meet(fresh, 2, 3, to_10_fails);
  for (const ConnectionFault& one : fresh.faults(hosts, kTwice)) EXPECT_EQ(one.kind, Kind::path);
  meet(fresh, 2, 10, to_10_fails);
  for (const ConnectionFault& one : fresh.faults(hosts, kTwice)) EXPECT_NE(one.kind, Kind::closed);
  meet(fresh, 3, 10, to_10_fails);
  const auto found = fresh.faults(hosts, kTwice);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(word(found.front()), "10 is closed");
}

/// As where repaired hosts alone are tested again: the others meet nobody else.
TEST(Connections, HostsThatWorkedBeforeAreWitnesses) {
  Connections all;
  for (unsigned host = 1; host < 6; ++host) all.known(host);
  for (unsigned host = 1; host < 5; ++host) meet(all, 0, host, [](unsigned, unsigned to) { return to != 0; });
  const auto found = all.faults({0, 1, 2, 3, 4, 5}, kTwice);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(word(found[0]), "0 is closed");
}

TEST(Connections, ASingleFailureThatRecoveredIsNoFault) {
  Connections all;
  all.failed(0, 1, "timed out");
  for (unsigned a = 0; a < 4; ++a)
    for (unsigned b = 0; b < 4; ++b)
      if (a != b) all.worked(a, b);
  EXPECT_TRUE(all.faults({0, 1, 2, 3}, kTwice).empty());
  all.failed_both(0, 1, "went silent");
  ASSERT_EQ(all.faults({0, 1, 2, 3}, kTwice).size(), 1u);
  EXPECT_EQ(word(all.faults({0, 1, 2, 3}, kTwice)[0]), "0 and 1");
}

}  // namespace
}  // namespace headrace::connections_test
