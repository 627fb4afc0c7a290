// A node's state after a session, by its state before and what the session found; and what is handed over of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "harness/bringup/as_runs.h"
#include "harness/bringup/blame/judge.h"
#include "harness/bringup/blame/judge_groups.h"
#include "harness/bringup/blame/port_errors.h"
#include "harness/bringup/blame/topology.h"
#include "harness/bringup/blame/unreached.h"
#include "harness/bringup/hand_over.h"
#include "harness/bringup/rails.h"
#include "harness/bringup/tests/judge_tests.h"
#include "tests/unit/bringup_record.h"

namespace headrace::bringup::bringup_states_test {
namespace {

using Words = std::vector<std::string>;
using enum NodeState;

Record of_nodes(unsigned nodes, const std::string& more = "") {
  std::string hosts;
  for (unsigned node = 0; node < nodes; ++node) hosts += fmt::format("n{}{}\n", node, more);
  Record record = record_of(hosts);
  record.sessions.emplace_back().started_utc = "then";
  return record;
}

/// What is wrong with a pair over a rail, if anything is.
using Wrong = std::function<void(PairMeasured&)>;

/// Measured as the search asks, into the record's last session.
Evidence measured(Record& record, const Wrong& wrong = {}, unsigned most_rounds = 20, double latency_s = 30e-6) {
  SearchOptions options;
  options.most_rounds = most_rounds;
  Evidence evidence(topologies_of(record), options);
  Random random(1);
  const auto draw = [&] { return static_cast<double>(random.next() >> 11) * 0x1p-53; };
  for (Round round = evidence.next(); most_rounds > 0 && !round.empty(); round = evidence.next()) {
    RoundRecord& done = record.sessions.back().rounds.emplace_back();
    for (const auto& [a, b] : round)
      for (unsigned rail = 0; rail < rails(record); ++rail) {
        PairMeasured one{a, b, rail, {1e9 * (1 + 0.01 * draw()), 1e9 * (1 + 0.01 * draw())}, {}, latency_s};
        if (wrong) wrong(one);
        done.pairs.push_back(one);
      }
    evidence.add(done.pairs);
  }
  return evidence;
}
Wrong slow(unsigned node) {
  return [node](PairMeasured& one) {
    if (one.a == node || one.b == node) one.rate[0] *= 0.7;
  };
}
Broken broken(unsigned node) { return {{Finding::Scope::node, node, 0, 0, 0, {}}, "no way there"}; }

enum class Session { good, bad, retest_good, retest_bad, missing, away, too_short, broken_off };

/// Of eight nodes the state of `node`, which was `before`.
NodeState after(NodeState before, Session what, unsigned node = 3) {
  Record record = of_nodes(8);
  record.nodes[node].state = before;
  if (what == Session::retest_good || what == Session::retest_bad) record.sessions.back().retest = {node};
  if (what == Session::missing) record.nodes[node].missing.why = "gone";
  const bool short_one = what == Session::too_short || what == Session::broken_off;
  const Evidence evidence = measured(record, {}, short_one ? 0 : 20);
  std::vector<bool> part(8, true);
  part[node] = what != Session::away;
  Judged judged{evidence, {}, part, what != Session::broken_off};
  if (what == Session::bad || what == Session::retest_bad) judged.broken = {broken(node)};
  judge(record, judged);
  EXPECT_EQ(record.sessions.back().failed.contains(node), !judged.broken.empty());
  const auto& passed = record.sessions.back().passed;
  EXPECT_EQ(std::count(passed.begin(), passed.end(), node), what == Session::good || what == Session::retest_good);
  return record.nodes[node].state;
}

TEST(BringUpStates, FollowFromTheStateBeforeAndTheSession) {
  struct Row {
    NodeState before, good, bad, retest_good, retest_bad, missing, too_short;
  };
  for (const Row& row : {Row{fresh, accepted, confirmed, retested, confirmed, suspect, suspect},
                         Row{suspect, accepted, confirmed, retested, confirmed, suspect, suspect},
                         Row{accepted, accepted, confirmed, retested, confirmed, suspect, suspect},
                         Row{retested, retested, confirmed, retested, confirmed, suspect, suspect},
                         Row{confirmed, accepted, confirmed, retested, confirmed, confirmed, confirmed},
                         Row{drained, retested, drained, retested, confirmed, drained, drained},
                         Row{flapping, retested, confirmed, retested, confirmed, flapping, flapping}}) {
    const auto name = to_string(row.before);
    EXPECT_EQ(to_string(after(row.before, Session::good)), to_string(row.good)) << name;
    EXPECT_EQ(to_string(after(row.before, Session::bad)), to_string(row.bad)) << name;
    EXPECT_EQ(to_string(after(row.before, Session::retest_good)), to_string(row.retest_good)) << name;
    EXPECT_EQ(to_string(after(row.before, Session::retest_bad)), to_string(row.retest_bad)) << name;
    EXPECT_EQ(to_string(after(row.before, Session::missing)), to_string(row.missing)) << name;
    EXPECT_EQ(to_string(after(row.before, Session::too_short)), to_string(row.too_short)) << name;
    EXPECT_EQ(after(row.before, Session::away), row.before) << name;
    EXPECT_EQ(after(row.before, Session::broken_off), row.before) << name;
    for (const unsigned end : {0u, 7u}) {  // of the hosts file
      EXPECT_EQ(after(row.before, Session::good, end), row.good) << name;
      EXPECT_EQ(after(row.before, Session::bad, end), row.bad) << name;
    }
  }
}

TEST(BringUpStates, ADrainedNodeComesBackByTheRetest) {
  for (const bool taken_out : {false, true}) {
    Record record = of_nodes(8);
    record.nodes[3].state = confirmed;  // by a retest that it failed
    record.nodes[3].taken_out = taken_out;
    const Evidence evidence = measured(record);
    judge(record, {evidence, {}, std::vector<bool>(8, true), true});
    EXPECT_EQ(record.nodes[3].state, taken_out ? retested : accepted);
    EXPECT_EQ(commands_for(record, Scheduler::slurm).resume.size(), taken_out ? 1u : 0u);
  }
}

TEST(BringUpStates, ANodeThatLosesLessThanDeltaPasses) {
  Record record = of_nodes(8);
  std::vector<PairMeasured>& pairs = record.sessions[0].rounds.emplace_back().pairs;
  for (unsigned b = 1; b < 8; ++b)
    for (unsigned a = 0; a < b; ++a) pairs.push_back({a, b, 0, {a == 3 || b == 3 ? 0.97e9 : 1e9, 1e9}, {}, 30e-6});
  Evidence evidence(topologies_of(record), {});
  for (unsigned times = 0; times < 2; ++times) evidence.add(pairs);
  ASSERT_EQ(evidence.node(3), PartState::slower);
  judge(record, {evidence, {}, std::vector<bool>(8, true), true});
  EXPECT_EQ(record.nodes[3].state, accepted);
  EXPECT_EQ(record.sessions[0].passed.size(), 8u);
  EXPECT_EQ(record.word, Outcome::pass);
}

TEST(BringUpStates, ANodeThatFlappedTwiceIsNamed) {
  Record record = of_nodes(8);
  record.sessions.resize(4, record.sessions[0]);
  for (const std::size_t passed : {0, 2}) record.sessions[passed].passed = {3, 4};
  record.sessions[1].failed[3] = "slow";
  record.sessions[1].passed = {4};
  const Evidence evidence = measured(record);
  judge(record, {evidence, {}, std::vector<bool>(8, true), true});
  EXPECT_EQ(record.nodes[3].state, accepted) << "two passes in a row";
  record.sessions[2].passed = {4};
  judge(record, {evidence, {}, std::vector<bool>(8, true), true});
  EXPECT_EQ(record.nodes[3].state, flapping);
  EXPECT_EQ(record.nodes[4].state, accepted);
  ASSERT_EQ(record.faults.size(), 1u);
  EXPECT_TRUE(record.faults[0].of_node(3));
  EXPECT_EQ(record.faults[0].fault.b + record.faults[0].fault.rail + record.faults[0].fault.healthy, 0);
  EXPECT_NE(record.faults[0].fix.find("1 more pass in a row accepts it"), std::string::npos);
  EXPECT_NE(record.sentence.find("bad: n3; flapping: n3."), std::string::npos) << record.sentence;
  EXPECT_EQ(record.word, Outcome::fail);
  record.sessions[2].failed[3] = "slow";
  record.sessions[1].passed.push_back(3);
  record.sessions[1].failed.clear();
  record.sessions[0].failed[3] = "slow";
  record.sessions[0].passed.clear();
  judge(record, {evidence, {}, std::vector<bool>(8, true), true});
  EXPECT_EQ(record.nodes[3].state, flapping);
}

TEST(BringUpStates, WithFewNodesNoStateIsInvented) {
  for (const unsigned missing : {0u, 1u, 2u, 3u, 4u}) {
    Record record = of_nodes(4);
    for (unsigned node = 0; node < missing; ++node) record.nodes[node].missing.why = "gone";
    const Evidence evidence = measured(record, {}, 0);
    judge(record, {evidence, {}, std::vector<bool>(4, true), true});
    const bool any = missing <= 2;  // two are there
    for (const NodeRecord& one : record.nodes) EXPECT_EQ(one.state, any ? suspect : fresh) << missing;
    EXPECT_EQ(record.word, any ? Outcome::inconclusive : Outcome::error);
    EXPECT_EQ(record.sentence.find("no baseline") != std::string::npos, missing == 1 || missing == 2) << missing;
    EXPECT_EQ(record.sentence.find("No node answered") == 0, missing == 4);
    EXPECT_EQ(record.sentence.find("Fewer than two nodes") == 0, missing == 3);
    EXPECT_EQ(record.sentence.find(fmt::format("{} undecided", 4 - missing)) != std::string::npos, any);
    EXPECT_TRUE(record.sessions[0].passed.empty());
    judge(record, {evidence, {broken(3)}, std::vector<bool>(4, true), true});  // it is decided
    EXPECT_EQ(record.sentence.find(fmt::format("{} undecided", 3 - std::min(missing, 3u))) != std::string::npos, any);
  }
}

TEST(BringUpStates, TheVerdictFollowsTheFindings) {
  Record record = of_nodes(8);
  const Evidence good = measured(record);
  const auto word = [&](const std::vector<Broken>& all) {
    judge(record, {good, all, std::vector<bool>(8, true), true});
    return record.word;
  };
  EXPECT_EQ(word({}), Outcome::pass);
  EXPECT_EQ(record.usual_rate.size(), 1u);
  EXPECT_NE(record.sentence.find("nothing bad was found."), std::string::npos);
  record.running = true;
  EXPECT_EQ(word({}), Outcome::incomplete) << "steps are to come, or it was killed";
  EXPECT_NE(record.sentence.find("--resume"), std::string::npos) << record.sentence;
  record.running = false;
  std::vector<Broken> many;
  for (unsigned node = 0; node < 6; ++node) many.push_back(broken(node));
  EXPECT_EQ(word(many), Outcome::fail);
  EXPECT_NE(record.sentence.find("bad: n0, n1, n2, n3 and 2 more"), std::string::npos) << record.sentence;
  many.resize(4);
  word(many);
  EXPECT_NE(record.sentence.find("bad: n0, n1, n2, n3."), std::string::npos) << record.sentence;
  record.signal = 2;
  EXPECT_EQ(word({}), Outcome::interrupted);
  record.signal = 0;
  // Bad before, and away now: it is not forgotten.
  record.nodes[2].state = confirmed;
  std::vector<bool> part(8, true);
  part[2] = false;
  judge(record, {good, {}, part, true});
  EXPECT_EQ(record.word, Outcome::fail);
  EXPECT_NE(
      record.sentence.find("7 of 7 nodes took part; nothing bad was found; bad before, and not cleared since: n2."),
      std::string::npos)
      << record.sentence;
  record.nodes[2].state = flapping;
  judge(record, {good, {}, part, true});
  EXPECT_EQ(record.word, Outcome::fail);
  EXPECT_NE(record.sentence.find("flapping: n2; bad before, and not cleared since: n2."), std::string::npos);
  std::swap(record.nodes[2].state, record.nodes[0].state);
  part[2] = true, part[0] = false;
  judge(record, {good, {}, part, true});
  EXPECT_NE(record.sentence.find("not cleared since: n0."), std::string::npos);
  record.nodes[0].state = drained;
  judge(record, {good, {}, part, true});
  EXPECT_EQ(record.word, Outcome::pass) << "it is taken out";
}

TEST(BringUpStates, ADifferenceJoinsTheFaultOfItsNode) {
  Record record = of_nodes(8);
  const Evidence evidence = measured(record, slow(3));
  for (const unsigned node : {3, 5}) record.nodes[node].differences = {{node, "clock", "clock: 1 s", "chrony", true}};
  record.nodes[6].differences = {{6, "cpu.model", "another", "", false}};
  judge(record, {evidence, {}, std::vector<bool>(8, true), true});
  ASSERT_EQ(record.faults.size(), 2u);
  EXPECT_TRUE(record.faults[0].of_node(3) && record.faults[1].of_node(5));
  EXPECT_NE(record.faults[0].text.find("; clock: 1 s"), std::string::npos) << record.faults[0].text;
  EXPECT_NEAR(record.faults[0].loss, 0.3, 0.02);
  EXPECT_EQ(record.sessions[0].failed.size(), 2u);
}

/// Is node 3 accused by such pairs alone?
bool accused(const Wrong& of_pair, double latency_s = 30e-6, unsigned rdma_rails = 0) {
  Record record = of_nodes(16);
  for (unsigned rail = 0; rail < rdma_rails; ++rail)
    record.sessions.back().rdma_rails.push_back(fmt::format("port {}", rail));
  for (NodeRecord& node : record.nodes) {
    node.facts.emplace();
    for (unsigned rail = 0; rail < rdma_rails; ++rail)
      node.facts->rdma_ports.push_back({fmt::format("mlx5_{}/1", rail), ""});
  }
  const Evidence evidence = measured(
      record,
      [&](PairMeasured& one) {
        if (one.a == 3 || one.b == 3) of_pair(one);
      },
      20, latency_s);
  for (unsigned node = 0; node < 16; ++node) EXPECT_TRUE(node == 3 || evidence.node(node) == PartState::cleared);
  return evidence.node(3) == PartState::accused;
}

TEST(BringUpStates, LatencyAndResentShareAccuseFromTheirScalesOn) {
  const auto later = [](double by) { return [by](PairMeasured& one) { one.latency_s += by; }; };
  EXPECT_TRUE(accused(later(80e-6)));   // of the usual 30 us at least 50 us count
  EXPECT_FALSE(accused(later(20e-6)));  // some hops more
  EXPECT_FALSE(accused(later(40e-6)));
  EXPECT_TRUE(accused(later(300e-6), 200e-6));
  EXPECT_FALSE(accused(later(120e-6), 200e-6));
  EXPECT_TRUE(accused(later(2e-3), 5e-3));  // at most 1 ms counts
  EXPECT_FALSE(accused(later(0.5e-3), 5e-3));
  EXPECT_FALSE(accused(later(1e-3), 5e-3));
  const auto by_rdma = [](double by) { return [by](PairMeasured& one) { one.latency_s += one.rail == 1 ? by : 0; }; };
  EXPECT_TRUE(accused(by_rdma(16e-6), 2e-6, 1));
  EXPECT_FALSE(accused(by_rdma(3e-6), 2e-6, 1));
  EXPECT_FALSE(accused(by_rdma(8e-6), 2e-6, 1));
  for (const unsigned end : {0, 1}) {
    EXPECT_TRUE(accused([end](PairMeasured& one) { one.resent[end] = 0.004; }));
    EXPECT_FALSE(accused([end](PairMeasured& one) { one.resent[end] = 0.002; }));
    EXPECT_TRUE(accused([end](PairMeasured& one) { one.rate[end] = 0; }));
    EXPECT_TRUE(accused([end](PairMeasured& one) { one.rate[end] *= 0.9; }));
  }
}

TEST(BringUpStates, AgentsThatFailedOnceByThemselvesAreTriedAgain) {
  Record record = of_nodes(4);
  Unreached unreached(record);
  const std::vector<unsigned> all{0, 1, 2, 3};
  for (unsigned times = 0; times < kTwice; ++times) {
    EXPECT_TRUE(unreached.broken(all).empty() && unreached.given_up(all).empty());
    for (const auto& [a, b] : {std::pair(0u, 1u), std::pair(2u, 3u)})
      unreached.failed({a, b, 0, "memlock", false, std::nullopt, {a, b}});
    EXPECT_EQ(unreached.failures({0, 1, 0, "", false, std::nullopt, {0, 1}}), times + 1);
  }
  const std::vector<Broken> found = unreached.broken(all);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].fault.scope, Finding::Scope::shared);
  EXPECT_EQ(found[0].fault.a + found[0].fault.b + found[0].fault.rail, 0u);
  EXPECT_EQ(found[0].fault.healthy, 0);
  EXPECT_EQ(unreached.given_up(all).size(), 4u);
}

TEST(BringUpStates, TwoAgentsThatFailByThemselvesAreNamedWhereOthersMeet) {
  Record record = of_nodes(4);
  Unreached unreached(record);
  for (unsigned times = 0; times < kTwice; ++times) {
    unreached.measured({2, 3, 0, {1e9, 1e9}, {}, 1e-5}, false);
    unreached.failed({0, 1, 0, "memlock", false, std::nullopt, {0, 1}});
  }
  const std::vector<Broken> found = unreached.broken({0, 1, 2, 3});
  ASSERT_EQ(found.size(), 2u);
  for (const unsigned node : {0u, 1u}) {
    EXPECT_EQ(found[node].fault.scope, Finding::Scope::node);
    EXPECT_EQ(found[node].fault.a, node);
    EXPECT_EQ(found[node].fault.b + found[node].fault.healthy, 0);
  }
}

/// With a rail by TCP and one by RDMA: node 2 cannot be called over these.
std::vector<Broken> closed_over(const std::set<unsigned>& closed, bool cut_off = false) {
  Record record = of_nodes(5);
  record.sessions.back().rdma_rails = {"port 0"};
  for (NodeRecord& node : record.nodes) node.facts.emplace().rdma_ports = {{"mlx5_0/1", ""}};
  Unreached unreached(record);
  for (unsigned a = 0; a < 5; ++a)
    for (unsigned b = a + 1; b < 5; ++b)
      for (unsigned rail = 0; rail < 2; ++rail)
        for (unsigned times = 0; times < kTwice; ++times) {
          if (!closed.contains(rail) || (a != 2 && b != 2)) {
            PairMeasured met{a, b, rail, {1e9, 1e9}, {}, 1e-5};
            met.caller = a;
            unreached.measured(met, false);
          } else if (cut_off) {
            unreached.failed({a, b, rail, "no way"});
          } else {
            PairMeasured met{a, b, rail, {1e9, 1e9}, {}, 1e-5};
            met.caller = 2;
            unreached.measured(met, true);
            unreached.failed({a, b, rail, "no way", false, a == 2 ? b : a});
          }
        }
  return unreached.broken({0, 1, 2, 3, 4});
}

TEST(BringUpStates, AHostClosedByTcpIsTheNodesEvenIfRdmaWorks) {
  using Scope = Finding::Scope;
  for (const auto& [closed, cut_off, scope, rail] :
       std::vector<std::tuple<std::set<unsigned>, bool, Scope, unsigned>>{{{0}, false, Scope::node, 0},
                                                                          {{0}, true, Scope::nic, 0},
                                                                          {{1}, true, Scope::nic, 1},
                                                                          {{1}, false, Scope::nic, 1},
                                                                          {{0, 1}, true, Scope::node, 0}}) {
    const std::vector<Broken> found = closed_over(closed, cut_off);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].fault.scope, scope);
    EXPECT_EQ(found[0].fault.a, 2u);
    EXPECT_EQ(found[0].fault.b, 0u);
    EXPECT_EQ(found[0].fault.rail, rail);
    EXPECT_EQ(found[0].fault.healthy, 0);
  }
  EXPECT_TRUE(closed_over({}).empty());
}

TEST(BringUpStates, DamagedDataNameALinkAtOnceAndALostOneTwice) {
  for (const bool damaged : {false, true}) {
    Record record = of_nodes(4);
    Unreached unreached(record);
    for (unsigned a = 0; a < 4; ++a)
      for (unsigned b = a + 1; b < 4; ++b)
        if (a != 1 || b != 3) unreached.measured({a, b, 0, {1e9, 1e9}, {}, 1e-5}, false);
    for (unsigned times = 1; times <= kTwice; ++times) {
      unreached.failed({1, 3, 0, "x", damaged});
      EXPECT_EQ(unreached.failures({1, 3, 0, ""}), damaged ? 2 * times : times);
      EXPECT_EQ(unreached.caller(1, 3, 0), unreached.failures({1, 3, 0, ""}) % 2 == 0 ? 1u : 3u);
      const std::vector<Broken> found = unreached.broken({0, 1, 2, 3});
      ASSERT_EQ(found.size(), damaged || times == kTwice ? 1u : 0u);
      if (found.empty()) continue;
      EXPECT_EQ(found[0].fault.scope, Finding::Scope::link);
      EXPECT_EQ(std::pair(found[0].fault.a, found[0].fault.b), std::pair(1u, 3u));
      EXPECT_EQ(found[0].fault.healthy, 0);
    }
    EXPECT_TRUE(unreached.given_up({0, 1, 2, 3}).empty());
  }
}

TEST(BringUpStates, PortErrorsOfAThirdOfThePortsAreTheirOwn) {
  for (const unsigned bad : {1u, 2u, 3u}) {
    Record record = of_nodes(6);
    record.sessions.back().rdma_rails = {"port 0"};
    for (NodeRecord& node : record.nodes) node.facts.emplace().rdma_ports = {{"mlx5_0/1", ""}};
    for (unsigned times = 0; times < 2; ++times)
      for (const unsigned a : {0u, 2u, 4u})
        for (const unsigned rail : {0u, 1u}) {
          PairMeasured one{a, a + 1, rail, {1e9, 1e9}, {}, 1e-6};
          for (const unsigned end : {0u, 1u})
            if (a + end < bad) one.errors[end]["symbol_error"] = 1;
          record.sessions.back().rounds.push_back({1, {one}, {}});
        }
    const std::vector<Broken> found = port_errors(record);
    ASSERT_EQ(found.size(), bad <= 2 ? bad : 0) << bad;
    for (const Broken& one : found) EXPECT_EQ(one.fault.healthy + one.fault.b, 0);
    const char* const others = bad == 2 ? "(symbol_error +2), and 1 of the 5 other" : "and none of the 5 other";
    EXPECT_TRUE(found.empty() || found[0].why.find(others) != std::string::npos) << found[0].why;
    record.sessions.emplace_back().retest = {0};  // and is measured no more since
    EXPECT_EQ(port_errors(record).size(), bad == 2 ? 1u : 0u);
  }
}

TEST(BringUpStates, APointThatMostLackIsNoFault) {
  for (const auto& [nothing, lacking] : {std::pair(4u, 2u), std::pair(4u, 3u), std::pair(6u, 0u), std::pair(7u, 0u)}) {
    Record record = of_nodes(12);
    NodeTests& tests = record.sessions[0].tests.emplace_back();
    tests.started_utc = "then";
    for (unsigned node = 0; node < 12; ++node) {
      TestedNode& one = tests.of(node);
      if (node < nothing) one.without[""] = "no answer";
      if (node >= nothing && node < nothing + lacking) one.without["h2d"] = "no GPU";
    }
    std::size_t h2d = 0, all = 0;
    for (const Difference& one : judge_tests(record).differences) ++(one.what == "h2d" ? h2d : all);
    EXPECT_EQ(all, nothing <= 6 ? nothing : 0);
    EXPECT_EQ(h2d, nothing + lacking <= 6 ? lacking : 0);
    tests.nodes.resize(2);
    tests.nodes[1].without.clear();
    EXPECT_TRUE(judge_tests(record).differences.empty()) << "one of two is no majority";
  }
}

/// Twelve nodes that copy memory, the first four at 80 % of the rate; in so many tests.
Record tested(unsigned times) {
  Record record = of_nodes(12);
  for (unsigned node = 0; node < 12; ++node) {
    record.nodes[node].facts.emplace().facts = {{"cpu.model", "X"}, {"memory.total", "503 GiB"}};
    record.nodes[node].host.rack = node < 4 ? "r1" : "r2";
  }
  for (unsigned test = 0; test < times; ++test) {
    NodeTests& tests = record.sessions[0].tests.emplace_back();
    tests.started_utc = fmt::format("2026-01-31T12:00:{}0.250Z", test);
    tests.metrics.push_back({"memory_copy", "memory_copy", "copy_bandwidth", "B/s", "", {}, Better::higher});
    for (unsigned node = 0; node < 12; ++node)
      tests.nodes.push_back({node, {(1000 + 2.0 * (node * 7 % 12)) * (node < 4 ? 0.8 : 1)}, 0, {}});
  }
  return record;
}

TEST(BringUpStates, OtherHardwareIsNotComparedAndAWholeRackIsOneFault) {
  const TestsJudged once = judge_tests(tested(1)), twice = judge_tests(tested(2));
  EXPECT_EQ(std::set<unsigned>(once.suspects.begin(), once.suspects.end()), (std::set<unsigned>{0, 1, 2, 3}));
  EXPECT_TRUE(once.shared.empty() && twice.suspects.empty());
  ASSERT_EQ(twice.shared.size(), 1u);
  EXPECT_EQ(twice.shared[0].title(), "rack r1");
  EXPECT_NEAR(twice.shared[0].loss, 0.2, 0.02);
  EXPECT_NE(twice.shared[0].text.find("Nodes: n[0-3]"), std::string::npos) << twice.shared[0].text;
  Record mixed = tested(2);
  for (unsigned node = 0; node < 4; ++node) mixed.nodes[node].facts->facts["cpu.model"] = "Y";
  const TestsJudged judged = judge_tests(mixed);
  EXPECT_TRUE(judged.differences.empty() && judged.shared.empty() && judged.suspects.empty());
}

TEST(BringUpStates, ADisturbedTestSaysSo) {
  for (const double share : {0.0, 0.5}) {
    Record record = tested(2);
    for (NodeTests& tests : record.sessions[0].tests)
      for (TestedNode& one : tests.nodes) {
        if (one.node > 0 && one.node < 4) *one.values[0] /= 0.8;
        one.disturbed = one.node == 0 ? share : 0.9;
      }
    const TestsJudged judged = judge_tests(record);
    ASSERT_EQ(judged.differences.size(), 1u);
    EXPECT_EQ(judged.differences[0].host, 0u);
    EXPECT_EQ(judged.differences[0].reported.find("disturbed 50 %") != std::string::npos, share > 0);
  }
}

TEST(BringUpStates, ABrokenPartIsReportedOnce) {
  Record record = of_nodes(2);
  NodeTests& tests = record.sessions[0].tests.emplace_back();
  tests.started_utc = "then";
  for (const unsigned node : {0u, 1u}) tests.of(node).faults = {{"gpu1", "gpu1 is broken: Xid 79.", "drain"}};
  record.nodes[1].differences = {{1, "gpu1", "gpu1: Xid 79", "drain", true}};
  const auto hosts = [&] {
    std::vector<std::size_t> all;
    for (const Difference& one : judge_tests(record).differences) all.push_back(one.host);
    return all;
  };
  EXPECT_EQ(hosts(), std::vector<std::size_t>{0});
  const Difference known = record.nodes[1].differences[0];
  for (const Difference& other :
       {Difference{1, "gpu1", "gpu1: Xid 48", "drain", true}, Difference{1, "gpu1", "gpu1: Xid 79", "drain", false},
        Difference{1, "gpu1", "gpu1: Xid 79", "drain", true, true}}) {
    record.nodes[1].differences = {other};
    EXPECT_EQ(hosts().size(), 2u);
  }
}

TEST(BringUpStates, RailsByRdmaNeedAUsualNumberOfPorts) {
  using Ports = std::vector<agents::RdmaPortFacts>;
  const auto with = [](const std::vector<Ports>& ports, bool none = false, bool facts = true) {
    Record record = of_nodes(static_cast<unsigned>(ports.size()), none ? " rdma=none" : "");
    std::vector<unsigned> there;
    for (unsigned node = 0; node < ports.size(); ++node) {
      there.push_back(node);
      if (!facts) continue;
      record.nodes[node].facts.emplace().rdma_ports = ports[node];
      record.nodes[node].facts->rdma_counters = true;
      if (node == 1) record.nodes[node].facts->rdma_full = "mlx5_0/1 symbol_error";
    }
    set_rdma_rails(record, there);
    return record;
  };
  const Ports ab{{"m0/1", "a"}, {"m1/1", "b"}}, ae{{"m0/1", "a"}, {"m1/1", "e"}}, de{{"m0/1", "d"}, {"m1/1", "e"}};
  EXPECT_EQ(rails(with({ab, ab, {}, {}})), 1u);  // half of them
  EXPECT_EQ(with({ab, ab, ab}, true).skipped.at(0).why, "the hosts file says rdma=none");
  EXPECT_EQ(with({ab, ab, ab}, false, false).skipped.at(0).why, "no host said which ports it has");
  const Record some = with({ab, ab, ab, ae, de, {{"m0/1", "a"}}});
  ASSERT_EQ(rails(some), 3u);  // three of six are the same, but five have two
  EXPECT_EQ(rdma_port(some, 4, 2), "m1/1");
  EXPECT_EQ(rdma_port(some, 5, 2), "");
  const Record most = with({ab, ab, ab, ab, ae, de, {{"m0/1", "a"}}});
  ASSERT_EQ(rails(most), 3u);
  const auto names = [&](unsigned node) { return rdma_port(most, node, 1) + " " + rdma_port(most, node, 2); };
  EXPECT_EQ(names(0), "m0/1 m1/1");
  EXPECT_EQ(names(4), "m0/1 ");
  EXPECT_EQ(names(5), "m0/1 m1/1");  // as many elsewhere
  EXPECT_EQ(names(6), "m0/1 ");
  EXPECT_EQ(rdma_port(most, 0, 3), "");
  EXPECT_TRUE(has_rail(most, 4, 0) && has_rail(most, 4, 1) && !has_rail(most, 4, 2));
  EXPECT_EQ(rail_name(most, 4, 2), "RDMA at b");
  for (unsigned node = 0; node < 7; ++node) EXPECT_EQ(most.nodes[node].differences.size(), node == 4 || node == 6);
  ASSERT_EQ(most.skipped.size(), 1u);
  EXPECT_NE(most.skipped[0].why.find("at their limit on n1 (mlx5_0/1 symbol_error)"), std::string::npos);
}

TEST(BringUpStates, OfAGroupSlowerInTwoPointsTheGreaterLossIsKept) {
  Record record = of_nodes(12);
  record.usual_rate = {0};
  const auto measure = [&](double first, double second) {
    record.sessions[0].groups.clear();
    for (const bool again : {false, true})
      for (unsigned g = 0; g < 3; ++g) {
        GroupRun& one = record.sessions[0].groups.emplace_back();
        one.what = "collectives";
        one.nodes = {4 * g, 4 * g + 1, 4 * g + 2, 4 * g + 3};
        one.again = again;
        for (const auto& [point, slower] : {std::pair("a", first), std::pair("b", second)}) {
          const double usual = *point == 'a' ? 1000 : 10, value = g == 1 ? usual * (1 - slower) : usual;
          one.values.push_back({point, "busbw", "B/s", value, Better::higher, value});
          one.values.push_back({point, "share", "1", value, Better::neither, value});
        }
      }
    return judge_groups(record).faults;
  };
  for (const auto& [first, second] : {std::pair(0.2, 0.4), std::pair(0.4, 0.2), std::pair(0.4, 0.0)}) {
    const auto faults = measure(first, second);
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults[0].subject, "n[4-7]");
    EXPECT_NEAR(faults[0].loss, 0.4, 1e-9);
    EXPECT_NE(faults[0].text.find("none of its pairs was measured"), std::string::npos);
  }
  EXPECT_TRUE(measure(0.04, 0).empty());
  record.sessions[0].groups = {{"collectives", {3}, 0, "no mpirun", {}, {}}};
  const Fault fault = judge_groups(record).faults.at(0).fault;
  EXPECT_TRUE(fault.a == 3 && fault.b == 0 && fault.rail == 0 && fault.healthy == 0);
  record.sessions.clear();
  EXPECT_TRUE(judge_groups(record).faults.empty());
}

TEST(BringUpStates, OnlyPairsWithinASlowGroupAreItsPairs) {
  Record record = of_nodes(12);
  record.usual_rate = {1000};
  for (const bool again : {false, true})
    for (unsigned g = 0; g < 3; ++g) {
      const double value = g == 1 ? 500 : 1000;
      record.sessions[0].groups.push_back({.what = "collectives",
                                           .nodes = {4 * g, 4 * g + 1, 4 * g + 2, 4 * g + 3},
                                           .values = {{"a", "busbw", "B/s", value, Better::higher, value}},
                                           .again = again});
    }
  const auto pair = [](unsigned a, unsigned b, unsigned rail, double rate) {
    return PairMeasured{a, b, rail, {rate, rate}, {}, 1e-5};
  };
  record.sessions[0].rounds.emplace_back().pairs = {pair(4, 5, 0, 900), pair(4, 6, 0, 600), pair(3, 4, 0, 100),
                                                    pair(7, 8, 0, 100), pair(5, 6, 1, 100)};
  const auto faults = judge_groups(record).faults;
  ASSERT_EQ(faults.size(), 1u);
  for (const char* wanted : {" 2 measured", " 75 %", " 60 %", "(n4 to n6)"})
    EXPECT_NE(faults[0].text.find(wanted), std::string::npos) << faults[0].text;
}

TEST(BringUpStates, ASessionIsARunWithTheMiddlePairOfEachRound) {
  Record record = of_nodes(4);
  record.sessions.resize(3);
  record.sessions[1].rdma_rails = {"port 0"};
  for (NodeRecord& node : record.nodes) node.facts.emplace().rdma_ports = {{"mlx5_0/1", ""}};
  record.usual_rate = {1000};  // and none of RDMA
  for (const double factor : {1.0, 0.5, 0.9}) {
    RoundRecord& round = record.sessions[1].rounds.emplace_back();
    for (const unsigned a : {0u, 2u}) {
      round.pairs.push_back({a, a + 1, 0, {1000 * factor, 2000}, {0.01, 0.02}, 1e-5});
      if (factor > 0.8) round.pairs.push_back({a, a + 1, 1, {9000, 8000 * factor}, {0.03, 0}, 1e-6});
    }
  }
  record.sessions[2].rounds.emplace_back();  // of which nothing came
  const auto runs = as_runs(record, "cluster");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].id, "cluster session 2");
  EXPECT_EQ(runs[0].environment.at("launch.hosts"), "n0 n1 n2 n3");
  EXPECT_EQ(runs[0].points.at(0).repetitions, 3u);
  std::map<std::string, std::vector<double>> values;
  std::map<std::string, double> medians;
  for (const auto& metric : runs[0].points[0].metrics) {
    values[metric.name] = metric.values;
    medians[metric.name] = metric.median;
  }
  EXPECT_EQ(values["rate"], (std::vector<double>{1000, 500, 900}));
  EXPECT_EQ(medians["rate"], 900);
  EXPECT_EQ(values["rdma_rate"], (std::vector<double>{8000, 7200}));
  EXPECT_EQ(values["latency"], (std::vector<double>{1e-5, 1e-5, 1e-5}));
  EXPECT_EQ(medians["rdma_latency"], 1e-6);
  EXPECT_EQ(medians["resent"], 0.02);
  EXPECT_EQ(medians["rdma_resent"], 0.03);
  for (RoundRecord& round : record.sessions[1].rounds)
    std::erase_if(round.pairs, [](const PairMeasured& one) { return one.rail == 1; });
  for (const auto& metric : as_runs(record, "cluster").at(0).points[0].metrics)
    EXPECT_TRUE(!metric.name.starts_with("rdma")) << metric.name;
}

NamedFault named(Finding::Scope scope, unsigned node, const std::string& word, const std::string& subject,
                 double loss) {
  NamedFault one;
  one.fault = {scope, node, 0, 0, 0, {Quality::rate}};
  one.scope = word;
  one.subject = subject;
  one.text = subject + " is slow";
  one.fix = "mend";
  one.loss = loss;
  return one;
}

TEST(BringUpHandOver, TheReasonForADrainIsInWordsOfItsFaults) {
  Record record = of_nodes(8);
  for (NodeRecord& node : record.nodes) node.state = confirmed;
  record.nodes[0].state = flapping;
  record.nodes[1].state = drained;
  record.nodes[2].state = suspect;
  record.faults = {named(Finding::Scope::node, 3, "node", "n3", 0.1),
                   named(Finding::Scope::nic, 4, "NIC", "n4 e1", 0.2),
                   named(Finding::Scope::shared, 7, "rack", "r1", 0.2)};
  record.faults[0].brief = "port errors";
  record.nodes[5].differences = {{5, "clock", "", "", true}, {5, "cpu.model", "", "", false}};
  const Commands slurm = commands_for(record, Scheduler::slurm);
  EXPECT_EQ(slurm.nodes, (std::vector<unsigned>{0, 3, 4, 5, 6, 7}));
  const auto drain = [](const std::string& nodes, const std::string& reason) {
    return fmt::format("scontrol update nodename={} state=drain reason='headrace: {}'", nodes, reason);
  };
  Words wanted{drain("n0", "flapping"), drain("n3", "rate, port errors"), drain("n4", "rate, of n4 e1"),
               drain("n5", "clock"), drain("'n[6-7]'", "bad in an earlier session")};
  std::sort(wanted.begin(), wanted.end());
  Words drains = slurm.drain;
  std::sort(drains.begin(), drains.end());
  EXPECT_EQ(drains, wanted);
  record.simulated = "8 nodes";
  EXPECT_EQ(commands_for(record, Scheduler::slurm).nodes.size(), 6u);
  for (const Scheduler one : {Scheduler::slurm, Scheduler::kubernetes})
    EXPECT_TRUE(commands_for(record, one).drain.empty());
}

TEST(BringUpHandOver, NodesAreTakenDownUnlessHalfOfAllAreMissing) {
  for (const unsigned nodes : {4u, 5u}) {
    Record record = of_nodes(nodes);
    record.nodes[0].missing = {"silent", "look", true};
    record.nodes[1].missing = {"other version", "look"};
    EXPECT_EQ(commands_for(record, Scheduler::slurm).nodes.size(), nodes == 5 ? 1u : 0u);
    record.nodes[0].state = confirmed;  // it is drained, and not down
    EXPECT_EQ(commands_for(record, Scheduler::slurm).drain.size(), 1u);
    EXPECT_NE(commands_for(record, Scheduler::slurm).drain[0].find("state=drain"), std::string::npos);
  }
}

TEST(BringUpHandOver, ACaseForEachNodeByItsState) {
  const auto counts = [](NodeState state, bool missing, bool fault) {
    Record record = of_nodes(1);
    record.nodes[0].state = state;
    if (missing) record.nodes[0].missing.why = "gone";
    if (fault) record.faults = {named(Finding::Scope::node, 0, "node", "n0", 0.1)};
    const std::string xml = junit_xml(record);
    const std::size_t at = xml.find("failures=");
    return xml.substr(at, xml.find('>', at) - at);
  };
  const std::string ok = R"(failures="0" errors="0" skipped="0")", failed = R"(failures="1" errors="0" skipped="0")",
                    error = R"(failures="0" errors="1" skipped="0")", skip = R"(failures="0" errors="0" skipped="1")";
  for (const auto& [state, wanted] :
       {std::pair(fresh, error), std::pair(suspect, error), std::pair(confirmed, failed), std::pair(accepted, ok),
        std::pair(drained, skip), std::pair(retested, ok), std::pair(flapping, failed)}) {
    EXPECT_EQ(counts(state, false, false), wanted) << to_string(state);
    EXPECT_EQ(counts(state, true, false), wanted == ok ? error : wanted) << to_string(state);
    EXPECT_EQ(counts(state, false, true), failed) << to_string(state);
  }
}

TEST(BringUpHandOver, FindingsHaveALineForEachNodeAndSharedFault) {
  Record record = of_nodes(3, " rack=r1 switch=s1");
  record.nodes[1].missing.why = "gone";
  record.nodes[2].state = confirmed;
  NamedFault late = named(Finding::Scope::nic, 2, "NIC", "n2 e1", 0.3);
  late.fault.in = {Quality::latency};
  record.faults = {named(Finding::Scope::node, 2, "node", "n2", 0.1), late,
                   named(Finding::Scope::link, 0, "link", "n0 to n1", 0),
                   named(Finding::Scope::link, 0, "link", "n0 to n1", 0.5)};
  EXPECT_EQ(findings_csv(record),
            "scope,subject,rack,switch,state,in,loss,told\n"
            "node,n0,r1,s1,new,,,\nnode,n1,r1,s1,new,,,missing: gone\n"
            "node,n2,r1,s1,confirmed,rate latency,0.3,n2 is slow; n2 e1 is slow\n"
            "link,n0 to n1,,,bad,rate,,n0 to n1 is slow\nlink,n0 to n1,,,bad,rate,0.5,n0 to n1 is slow\n");
  const std::string gauges = prometheus_text(record);
  EXPECT_NE(gauges.find(R"(node{node="n1",state="new",missing="yes"} 1)"), std::string::npos) << gauges;
  EXPECT_EQ(gauges.find(R"(subject="n0 to n1")"), gauges.rfind(R"(subject="n0 to n1")")) << "once";
}

TEST(BringUpHandOver, OneStepThatGoesOnAndOneAfterTheRepair) {
  Record record = of_nodes(4);
  const auto when = [&] {
    Words all;
    for (const Step& step : next_steps(record)) all.push_back(step.when);
    return all;
  };
  for (NodeRecord& node : record.nodes) node.state = accepted;
  record.faults = {named(Finding::Scope::shared, 0, "network", "TCP", 0)};
  EXPECT_TRUE(when().empty()) << "without the command that continues it";
  record.again = "headrace bringup";
  EXPECT_EQ(when(), Words{"when hosts can connect to one another"});
  record.nodes[0].missing.why = "gone";
  EXPECT_EQ(when(), Words{"when missing nodes are back"});
  record.nodes[0].missing = {};
  record.faults.clear();
  for (const NodeState state : {fresh, suspect}) {
    record.nodes[0].state = state;
    EXPECT_EQ(when(), Words{"more rounds for undecided nodes"});
  }
  for (const NodeState state : {confirmed, drained, flapping}) {
    record.nodes[0].state = state;
    EXPECT_EQ(when(), Words{"after the repair"});
  }
}

}  // namespace
}  // namespace headrace::bringup::bringup_states_test
