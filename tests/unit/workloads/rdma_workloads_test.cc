// The RDMA workloads on devices that are host memory: both ends of a pair, a ring of several ranks, a follower that is
// reported each step; and what is said when data is wrong or nothing comes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <mutex>
#include <set>

#include "harness/backends/loader.h"
#include "harness/workload/peer/follow.h"
#include "harness/workload/peer/listener.h"
#include "tests/unit/host_gpu.h"
#include "tests/unit/host_rdma.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/thread_ranks.h"
#include "tests/unit/workload_runner.h"
#include "workloads/network/port_lines.h"
#include "workloads/network/rdma_traffic.h"

namespace headrace::testing::rdma_workloads_test {
namespace {

constexpr const char* kQuick = ", time: 10ms, buffer: 64KiB, huge_pages: false, peer_timeout: 300ms";
/// Where many threads share few processors, and nobody is to be given up.
constexpr const char* kPatient = ", time: 10ms, buffer: 64KiB, huge_pages: false, peer_timeout: 2min";

/// What each rank's last repetition reported, and what it threw.
struct Outcome {
  std::map<std::string, double> metrics;
  std::optional<PairMatrix> pairs;
  std::uint64_t operations = 0;
  std::optional<GroupShape> group;
  bool relaxed_ordering = false;  // asked for by this or another rank
  std::string error, skip;
  std::string why_no_port;  // as why_missing("nic_bandwidth")
  std::set<unsigned> gpus;  // that were touched
  std::vector<std::string> notes;
  unsigned workers = 0;
  std::vector<RdmaSettings> opened;  // of all ranks' endpoints
};

HostGpuBackend* give_gpus(Node& node) {
  HostBackendSettings settings;
  settings.gpus.resize(4);
  auto gpus = std::make_unique<HostGpuBackend>(settings);
  HostGpuBackend* own = gpus.get();
  node.backends().replace_gpu(std::move(gpus));
  return own;
}

/// Ranks that need not be all alike.
struct Cast {
  std::vector<std::string> hosts;
  std::vector<unsigned> ports;                          // devices of each rank's host
  std::vector<unsigned> team;                           // {} = all
  std::map<std::string, std::vector<unsigned>> down{};  // of each host's ports
};

std::vector<Outcome> run_cast(const Cast& cast, const std::string& workload, const std::string& parameters,
                              HostRdmaFaults faults = {}, unsigned repetitions = 2) {
  const auto fabric = std::make_shared<HostFabric>();
  fabric->faults = faults;
  std::vector<Outcome> outcomes(cast.hosts.size());
  on_ranks(cast.hosts, 5, [&](std::unique_ptr<Ranks> own) {
    Outcome& outcome = outcomes[own->rank()];
    const HostGpuBackend* gpus = nullptr;
    const unsigned ports = cast.ports.empty() ? 1 : cast.ports[own->rank()];
    WorkloadRunner runner(workload, "{" + parameters + "}");
    const std::shared_ptr<Ranks> ranks = std::move(own);
    runner.node().join(ranks);
    if (!cast.team.empty()) runner.node().set_team(cast.team);
    const auto down = cast.down.find(cast.hosts[ranks->rank()]);
    runner.node().backends().replace_rdma(std::make_unique<HostRdmaBackend>(
        fabric, ports, down == cast.down.end() ? std::vector<unsigned>{} : down->second, cast.hosts[ranks->rank()]));
    if (parameters.find("memory: gpu") != std::string::npos) gpus = give_gpus(runner.node());
    try {
      if (runner.node().team_index() < runner.node().team().size()) {
        if (const auto skip = runner.check()) {
          outcome.skip = skip->reason;
        } else {
          runner.prepare();
          for (unsigned i = 0; i < repetitions; ++i) outcome.operations = runner.repeat(i + 1).phases[0].operations;
          outcome.metrics = runner.metrics;
          outcome.pairs = runner.as<JoinsRanks>().pairs();
          outcome.group = runner.as<JoinsRanks>().group();
          outcome.why_no_port = runner->why_missing("nic_bandwidth");
          outcome.notes = runner->notes();
          outcome.workers = runner->workers();
        }
      }
    } catch (const std::exception& e) {
      outcome.error = e.what();
    }
    if (gpus) outcome.gpus = gpus->touched();
    // Whatever failed, failed for all at the same exchange: the next one finds everybody.
    EXPECT_NO_THROW(ranks->barrier("the end", 5)) << outcome.error;
  });
  for (Outcome& outcome : outcomes) outcome.opened = fabric->opened;
  for (Outcome& outcome : outcomes)
    outcome.relaxed_ordering = std::any_of(fabric->opened.begin(), fabric->opened.end(),
                                           [](const RdmaSettings& settings) { return settings.relaxed_ordering; });
  return outcomes;
}

/// One rank on each of the hosts a, b, c ...
std::vector<Outcome> run_ranks(unsigned ranks, const std::string& workload, const std::string& parameters,
                               HostRdmaFaults faults = {}, unsigned repetitions = 2) {
  Cast cast;
  for (unsigned r = 0; r < ranks; ++r) cast.hosts.push_back(std::string(1, static_cast<char>('a' + r)));
  return run_cast(cast, workload, parameters, faults, repetitions);
}

struct RdmaPairs : ::testing::TestWithParam<const char*> {};

TEST_P(RdmaPairs, MoveDataAndFindItRight) {
  for (const char* more : {"message_size: 1B", "message_size: 3000B, queue_pairs: 3, post_list: 4",
                           "message_size: 4KiB, direction: both, queue_pairs: 2", "message_size: 128KiB, tx_depth: 2",
                           "message_size: 64B, tx_depth: 16, cq_moderation: 16, rx_depth: 2"}) {
    const auto [first, second] = [&] {
      const auto all = run_ranks(2, GetParam(), std::string(more) + kQuick);
      return std::pair(all[0], all[1]);
    }();
    EXPECT_EQ(first.error + second.error, "") << more;
    EXPECT_GT(first.operations, 0u) << more;
    EXPECT_GT(first.metrics.at("bandwidth"), 0) << more;
    EXPECT_NEAR(first.metrics.at("line_share"),
                first.metrics.at("bandwidth") / 10e9 / (std::string(more).find("both") == std::string::npos ? 1 : 2),
                1e-9);
    const bool both = std::string(more).find("both") != std::string::npos;
    EXPECT_LE(first.metrics.at("nic_bandwidth"), first.metrics.at("bandwidth") / (both ? 2 : 1)) << more;
    EXPECT_TRUE(both || first.metrics.at("nic_bandwidth") == first.metrics.at("bandwidth")) << more;
    EXPECT_TRUE(second.metrics.empty()) << more;
  }
}

TEST_P(RdmaPairs, EndWithAnyListsAndCompletions) {
  for (const unsigned depth : {7u, 16u, 100u})
    for (const unsigned list : {1u, 3u, 7u})
      for (const unsigned moderation : {1u, depth - 1, depth, 2 * depth}) {
        const std::string settings =
            fmt::format("message_size: 64B, tx_depth: {}, post_list: {}, cq_moderation: {}", depth, list, moderation);
        const auto all = run_ranks(2, GetParam(), settings + kQuick, {}, 1);
        EXPECT_EQ(all[0].error + all[1].error, "") << settings;
        EXPECT_GT(all[0].operations, 0u) << settings;
      }
}

TEST_P(RdmaPairs, LetMemoryBeWrittenInAnyOrderOnlyIfUnobserved) {
  EXPECT_TRUE(run_ranks(2, GetParam(), std::string("message_size: 4KiB") + kQuick)[0].relaxed_ordering);
  EXPECT_FALSE(
      run_ranks(2, GetParam(), std::string("message_size: 4KiB, measure: latency") + kQuick)[0].relaxed_ordering);
}

TEST_P(RdmaPairs, GoToAndFro) {
  for (const char* more : {"message_size: 1B", "message_size: 4KiB"}) {
    const auto all = run_ranks(2, GetParam(), std::string("measure: latency, ") + more + kQuick);
    EXPECT_EQ(all[0].error + all[1].error, "") << more;
    EXPECT_GT(all[0].operations, 0u) << more;
    ASSERT_EQ(all[0].metrics.size(), 1u) << more;
    EXPECT_GT(all[0].metrics.at("time_s"), 0) << more;
  }
}

TEST_P(RdmaPairs, ReportWrongData) {
  const auto all = run_ranks(2, GetParam(), std::string("message_size: 4KiB") + kQuick, {.corrupts = true});
  const std::string where = std::string(GetParam()) == "rdma_read" ? "a" : "b";
  for (const Outcome& o : all)
    EXPECT_NE(o.error.find("wrong data on " + where + ": message buffer 0 at offset 0"), std::string::npos) << o.error;
}

TEST_P(RdmaPairs, NameSilentRanks) {
  for (const char* measure : {"bandwidth", "latency"}) {
    const auto all =
        run_ranks(2, GetParam(), std::string("message_size: 4KiB, measure: ") + measure + kQuick, {.loses = true}, 1);
    EXPECT_NE(all[0].error.find("nothing came from rank 1 (b) for 0.3 s (peer_timeout): it is gone, or the network"),
              std::string::npos)
        << all[0].error;
  }
}

TEST_P(RdmaPairs, SayWhyTheDeviceFailed) {
  const auto all = run_ranks(2, GetParam(), std::string("message_size: 4KiB") + kQuick, {.fails_with = 5}, 1);
  EXPECT_EQ(all[0].error, "to rank 1 (b): status 5");
  EXPECT_NE(all[1].error.find("rank 0 (a)"), std::string::npos)
      << all[1].error;  // one that only waits gives it up, too
}

TEST_P(RdmaPairs, LeaveTheOddRankOut) {
  const auto all = run_ranks(3, GetParam(), std::string("schedule: bisection, message_size: 4KiB") + kQuick);
  for (const Outcome& o : all) EXPECT_EQ(o.error, "");
  EXPECT_EQ(all[2].operations, 0u);
}

/// "ab ba" for each pair of names that was measured, from and to.
std::string measured(const std::optional<PairMatrix>& matrix) {
  std::string all;
  for (std::size_t a = 0; matrix && a < matrix->names.size(); ++a)
    for (std::size_t b = 0; b < matrix->names.size(); ++b)
      if (matrix->rate[a][b] > 0) all += (all.empty() ? "" : " ") + matrix->names[a] + matrix->names[b];
  return all;
}

TEST_P(RdmaPairs, MeetAsTheScheduleSays) {
  const auto meet = [&](unsigned ranks, const std::string& schedule) {
    const auto all = run_ranks(ranks, GetParam(), "message_size: 4KiB, " + schedule + kQuick);
    for (const Outcome& o : all) EXPECT_EQ(o.error + o.skip, "") << schedule;
    for (unsigned r = 1; r < ranks; ++r) EXPECT_FALSE(all[r].pairs) << schedule;
    EXPECT_LE(all[0].metrics.at("slowest_bandwidth"), all[0].metrics.at("bandwidth")) << schedule;
    return all[0];
  };
  const Outcome each = meet(4, "direction: each_way");
  EXPECT_EQ(measured(each.pairs), "ab ac ad ba bc bd ca cb cd da db dc");
  EXPECT_GT(each.metrics.at("total_bandwidth"), each.metrics.at("slowest_bandwidth"));
  EXPECT_EQ(measured(meet(3, "direction: both, queue_pairs: 2").pairs), "ab ac ba bc ca cb");
  EXPECT_EQ(measured(meet(4, "schedule: ring").pairs), "ab bc cd da");
  EXPECT_EQ(measured(meet(4, "schedule: bisection").pairs), "ac bd");
  // One way of each pair; who sends changes, so that nobody is idle for long.
  EXPECT_EQ(measured(meet(4, "direction: one_way").pairs), "ab ad bc ca cd db");
}

TEST_P(RdmaPairs, GoToAndFroBetweenAllPairs) {
  const auto all = run_ranks(3, GetParam(), std::string("measure: latency, message_size: 64B") + kQuick);
  for (const Outcome& o : all) EXPECT_EQ(o.error, "");
  EXPECT_GE(all[0].metrics.at("slowest_latency_ns"), 1e9 * all[0].metrics.at("time_s"));
  EXPECT_FALSE(all[0].pairs);
}

TEST_P(RdmaPairs, StayOnTheirRails) {
  const Cast cast{{"a", "a", "b", "b"}, {2, 2, 2, 2}, {}};
  const auto all =
      run_cast(cast, GetParam(), std::string("schedule: rails, direction: each_way, message_size: 4KiB") + kQuick);
  for (const Outcome& o : all) ASSERT_EQ(o.error, "");
  ASSERT_TRUE(all[0].pairs);
  EXPECT_EQ(all[0].pairs->names, (std::vector<std::string>{"a host0/1", "b host0/1", "a host1/1", "b host1/1"}));
  EXPECT_EQ(measured(all[0].pairs), "a host0/1b host0/1 b host0/1a host0/1 a host1/1b host1/1 b host1/1a host1/1");
  EXPECT_GT(all[0].metrics.at("total_bandwidth"), 0);
}

/// Where a rank is given up early enough for a test, and others are not.
constexpr const char* kCut = ", time: 10ms, buffer: 64KiB, huge_pages: false, peer_timeout: 2s";

HostRdmaFaults cut(const std::vector<std::pair<std::string, std::string>>& links) {
  HostRdmaFaults faults;
  for (const auto& [a, b] : links) faults.cut.insert({{a, b}, {b, a}});
  return faults;
}

/// "b to c: rank 1 (b): to rank 2 (c): status 12" for each pair that was left out.
std::string left_out(const std::optional<PairMatrix>& matrix) {
  std::string all;
  for (const UnreachedPair& pair : matrix ? matrix->unreached : std::vector<UnreachedPair>{})
    all += (all.empty() ? "" : "; ") + matrix->names[pair.a] + " to " + matrix->names[pair.b] + ": " + pair.why;
  return all;
}

/// What is reported about those: "node d: no connection with ...".
std::string findings(const std::optional<PairMatrix>& matrix) {
  std::string all;
  for (const PairFinding& one : pair_findings(blame(*matrix), *matrix))
    if (one.below == 0) all += (all.empty() ? "" : "; ") + one.part + ": " + one.reported;
  return all;
}

TEST_P(RdmaPairs, LeaveOutTwoWithoutAPath) {
  for (const auto& [more, pairs] :
       {std::pair("direction: each_way, queue_pairs: 2", "ab ac ad ba bd ca cd da db dc"),
        std::pair("direction: both, tx_depth: 16", "ab ac ad ba bd ca cd da db dc"),
        std::pair("direction: one_way, post_list: 4", "ab ad ca cd db"), std::pair("schedule: ring", "ab cd da")}) {
    const auto all =
        run_ranks(4, GetParam(), std::string("message_size: 4KiB, ") + more + kCut, cut({{"b host0", "c host0"}}));
    for (const Outcome& o : all) EXPECT_EQ(o.error, "") << more;
    EXPECT_EQ(measured(all[0].pairs), pairs) << more;
    const std::string reported = left_out(all[0].pairs);
    EXPECT_TRUE(reported == "b to c: rank 1 (b): to rank 2 (c): status 12" ||
                reported == "b to c: rank 2 (c): to rank 1 (b): status 12")
        << more << ": " << reported;
    EXPECT_GT(all[0].metrics.at("nic_bandwidth"), 0) << more;
    EXPECT_GE(all[0].metrics.at("total_bandwidth"), all[0].metrics.at("slowest_bandwidth")) << more;
  }
}

TEST_P(RdmaPairs, LeaveOutTwoThatCannotBeConnected) {
  HostRdmaFaults faults = cut({{"b host0", "c host0"}});
  faults.refuses_cut = true;
  for (const char* more : {"", ", connect: rdma_cm, direction: each_way"}) {
    const auto all = run_ranks(4, GetParam(), std::string("message_size: 4KiB") + more + kCut, faults);
    for (const Outcome& o : all) EXPECT_EQ(o.error, "") << more;
    EXPECT_EQ(left_out(all[0].pairs), "b to c: rank 1 (b): to rank 2 (c): the address does not answer") << more;
    EXPECT_EQ(measured(all[0].pairs).find("bc"), std::string::npos) << more;
  }
}

TEST_P(RdmaPairs, LeaveOutTwoOfThoseThatGoToAndFro) {
  const auto all = run_ranks(4, GetParam(), std::string("measure: latency, message_size: 64B") + kCut,
                             cut({{"b host0", "c host0"}}));
  for (const Outcome& o : all) EXPECT_EQ(o.error, "");
  EXPECT_NE(left_out(all[0].pairs).find("b to c: "), std::string::npos) << left_out(all[0].pairs);
  EXPECT_EQ(measured(all[0].pairs), "");
  EXPECT_GT(all[0].metrics.at("slowest_latency_ns"), 0);
  EXPECT_EQ(findings(all[0].pairs).find("link b to c: rank "), 0u) << findings(all[0].pairs);
}

/// Who gets through to nobody learns it as a node; no turn is whole then.
TEST_P(RdmaPairs, LeaveOutUnreachableRanks) {
  const auto all = run_ranks(4, GetParam(), std::string("message_size: 4KiB") + kCut,
                             cut({{"a host0", "d host0"}, {"b host0", "d host0"}, {"c host0", "d host0"}}));
  for (const Outcome& o : all) EXPECT_EQ(o.error, "");
  EXPECT_EQ(measured(all[0].pairs), "ab bc ca");
  EXPECT_FALSE(all[0].metrics.contains("total_bandwidth"));
  const std::string reported = findings(all[0].pairs);
  EXPECT_EQ(reported.find("node d: no connection with "), 0u) << reported;
  EXPECT_EQ(reported.find(';'), std::string::npos) << reported;
}

/// A queue pair that fails in a later repetition, or after some messages.
TEST_P(RdmaPairs, LeaveOutTwoThatPartLater) {
  HostRdmaFaults faults = cut({{"b host0", "c host0"}});
  for (const std::uint64_t after : {50u, 2000u}) {
    faults.after = after;
    const auto all = run_ranks(4, GetParam(), std::string("message_size: 4KiB, direction: both") + kCut, faults, 3);
    for (const Outcome& o : all) EXPECT_EQ(o.error, "") << after;
    EXPECT_EQ(measured(all[0].pairs), "ab ac ad ba bd ca cd da db dc") << after;
    EXPECT_EQ(all[0].pairs->unreached.size(), 1u) << after;
  }
}

TEST_P(RdmaPairs, EndWithoutRanksToMeasure) {
  const auto two = run_ranks(2, GetParam(), std::string("message_size: 4KiB") + kQuick, cut({{"a host0", "b host0"}}));
  EXPECT_EQ(two[0].error, "to rank 1 (b): status 12");
  EXPECT_FALSE(two[1].error.empty());
  std::vector<std::pair<std::string, std::string>> links;
  for (const char a : {'a', 'b', 'c', 'd', 'e', 'f'})
    for (char b = 'a'; b < a; ++b) links.emplace_back(std::string(1, a) + " host0", std::string(1, b) + " host0");
  const auto none = run_ranks(6, GetParam(), std::string("message_size: 4KiB") + kQuick, cut(links));
  for (const Outcome& o : none) EXPECT_EQ(o.error, none[0].error);  // before all have tried all
  EXPECT_NE(none[0].error.find("status 12"), std::string::npos) << none[0].error;
}

/// What is no fault of the way between two leaves nobody out.
TEST_P(RdmaPairs, EndWhereDataIsWrongOrMemoryIsNotThere) {
  for (const auto& [faults, words] : {std::pair(HostRdmaFaults{.corrupts = true}, "wrong data on"),
                                      {HostRdmaFaults{.fails_with = 10}, "status 10"}}) {
    const auto all = run_ranks(4, GetParam(), std::string("message_size: 4KiB") + kQuick, faults, 1);
    for (const Outcome& o : all) EXPECT_NE(o.error.find(words), std::string::npos) << o.error;
  }
}

INSTANTIATE_TEST_SUITE_P(Rdma, RdmaPairs, ::testing::Values("rdma_write", "rdma_read", "rdma_send"));

TEST(RdmaPair, RailsWantOneRankAtEachPortOfEachNode) {
  const auto describe = [](const Cast& cast) {
    const auto all = run_cast(cast, "rdma_write", std::string("schedule: rails, message_size: 4KiB") + kQuick);
    for (const Outcome& o : all) EXPECT_EQ(o.error, all[0].error);
    return all[0].error;
  };
  EXPECT_EQ(describe({{"a", "a"}, {2, 2}, {}}), "schedule: rails: all ranks are on a: rails join several nodes");
  EXPECT_EQ(
      describe({{"a", "a", "b"}, {2, 2, 2}, {}}),
      "schedule: rails: no rank on b goes by port 1 of its node, but others do: start one process for each port on "
      "every node");
  EXPECT_EQ(
      describe({{"a", "a", "b"}, {1, 1, 1}, {}}),
      "schedule: rails: rank 0 (a) and rank 1 (a) go by the same port, host0/1: start one process for each port of a "
      "node");
}

/// One way from a port to another's: not within a host, not where ranks share a port.
TEST(RdmaPair, ReportsTheRateOfAPort) {
  const auto describe = [](const Cast& cast, const std::string& more) {
    const auto all = run_cast(cast, "rdma_write", more + ", message_size: 4KiB" + kQuick);
    for (const Outcome& o : all) EXPECT_EQ(o.error, "");
    EXPECT_EQ(all[0].metrics.contains("nic_bandwidth"), all[0].why_no_port.empty());
    return all[0].why_no_port;
  };
  EXPECT_EQ(describe({{"a", "a", "b", "b"}, {2, 2, 2, 2}, {}}, "schedule: all_pairs"), "");
  EXPECT_EQ(describe({{"a", "a", "b", "b"}, {2, 2, 2, 2}, {}}, "schedule: rails"), "");
  EXPECT_EQ(describe({{"a", "a", "b"}, {1, 1, 1}, {0, 2}}, "schedule: ring"), "");
  EXPECT_EQ(describe({{"a", "a"}, {2, 2}, {}}, "direction: both"), "all ranks are on a");
  EXPECT_EQ(describe({{"a", "a", "b", "b"}, {1, 1, 1, 1}, {}}, "schedule: bisection")
                .find("rank 0 (a) and rank 1 (a) go by the same port, host0/1, at the same time: "),
            0u);
  EXPECT_EQ(describe({{"a", "b"}, {1, 1}, {}}, "measure: latency"), "measure: latency gives no bandwidth");
}

TEST(RdmaPair, TakesOnlyTheTeam) {
  const auto all = run_cast({{"a", "b", "c"}, {}, {0, 2}}, "rdma_write", std::string("message_size: 4KiB") + kQuick);
  EXPECT_EQ(all[0].error + all[1].error + all[2].error, "");
  EXPECT_EQ(measured(all[0].pairs), "ac");
  EXPECT_EQ(all[1].operations, 0u);
  const auto alone = run_cast({{"a", "b"}, {}, {1}}, "rdma_write", std::string("message_size: 4KiB") + kQuick);
  EXPECT_NE(alone[1].skip.find("one rank alone takes part"), std::string::npos);
  const auto wrong = run_cast({{"a", "b", "c"}, {}, {0, 2}}, "rdma_write", std::string("message_size: 4KiB") + kQuick,
                              {.fails_with = 5}, 1);
  EXPECT_EQ(wrong[0].error, "to rank 2 (c): status 5");  // its number in the whole run
}

TEST(RdmaPair, OneThatHasNoDeviceIsNamedAtOnce) {
  for (const char* workload : {"rdma_write", "rdma_all_reduce"}) {
    const auto all = run_cast({{"a", "b", "c"}, {1, 0, 1}, {}}, workload, "message_size: 4KiB, huge_pages: false");
    EXPECT_EQ(all[0].error, "rank 1 (b): no RDMA device") << workload;
    EXPECT_EQ(all[1].error, "no RDMA device") << workload;
    EXPECT_EQ(all[2].error, "rank 1 (b): no RDMA device") << workload;
  }
}

/// The first pair's trouble ends the schedule for all, with one reason.
TEST(RdmaPair, TroubleOfOnePairIsReportedToAll) {
  const auto all = run_ranks(4, "rdma_write", std::string("schedule: ring, message_size: 4KiB") + kQuick,
                             {.fails_with = 5, .after = 200}, 3);
  for (const Outcome& o : all) EXPECT_NE(o.error.find("status 5"), std::string::npos) << o.error;
}

/// Of several ports of a rank the others go on.
TEST(RdmaPair, LeavesOutOnePortOfSeveral) {
  for (const char* more : {"direction: both", "direction: each_way, queue_pairs: 2"}) {
    const auto all =
        run_cast({{"a", "b"}, {2, 2}, {}}, "rdma_write", std::string("rails: all, message_size: 4KiB, ") + more + kCut,
                 cut({{"a host1", "b host1"}}));
    for (const Outcome& o : all) EXPECT_EQ(o.error, "") << more;
    EXPECT_EQ(measured(all[0].pairs), "a port 0b port 0 b port 0a port 0") << more;
    ASSERT_EQ(all[0].pairs->unreached.size(), 1u) << more;
    EXPECT_EQ(findings(all[0].pairs).find("rail port 1: no host can connect to any other: rank "), 0u);
  }
}

/// Nobody acknowledges datagrams: who waits for them reports. What came the other way before counts for nothing.
TEST(RdmaPair, LeavesOutTwoThatLoseAllDatagrams) {
  HostRdmaFaults faults;
  faults.cut = {{"c host0", "b host0"}};
  const auto all = run_ranks(3, "rdma_send",
                             std::string("transport: ud, message_size: 1KiB, direction: each_way") + kCut, faults, 3);
  for (const Outcome& o : all) EXPECT_EQ(o.error, "");
  EXPECT_EQ(measured(all[0].pairs), "ab ac ba ca");
  EXPECT_EQ(left_out(all[0].pairs).find("b to c: rank 1 (b): nothing came from rank 2 (c) for 2 s"), 0u)
      << left_out(all[0].pairs);
  EXPECT_LT(all[0].metrics.at("lost_share"), 1);  // of those that are left
}

TEST(RdmaPair, RefusesMisfits) {
  EXPECT_NE(problems_of("rdma_write", "{measure: latency, direction: both}").find("direction"), std::string::npos);
  EXPECT_NE(problems_of("rdma_write", "{measure: latency, queue_pairs: 2}").find("queue_pairs"), std::string::npos);
  EXPECT_NE(problems_of("rdma_write", "{mtu: 1500}").find("must be 0, 256, 512, 1024, 2048 or 4096"),
            std::string::npos);
  EXPECT_EQ(problems_of("rdma_write", "{mtu: 1024}"), "");
}

/// Memory that no processor here may touch but by copies; without dma-buf it is enrolled as peermem would have it.
TEST(RdmaPair, MovesDataInGpus) {
  for (const char* workload : {"rdma_write", "rdma_read", "rdma_send"}) {
    const auto all = run_ranks(2, workload, std::string("message_size: 3000B, memory: gpu") + kQuick);
    EXPECT_EQ(all[0].error + all[1].error, "") << workload;
    EXPECT_GT(all[0].metrics.at("bandwidth"), 0) << workload;
  }
  const auto wrong =
      run_ranks(2, "rdma_write", std::string("message_size: 4KiB, memory: gpu") + kQuick, {.corrupts = true});
  EXPECT_EQ(wrong[0].error.find("rank 1 (b): wrong data on b"), 0u) << wrong[0].error;
  EXPECT_NE(problems_of("rdma_send", "{measure: latency, memory: gpu}").find("rdma_read's"), std::string::npos);
}

TEST(RdmaPair, MeetsAsManyOthersAsTurnsAllow) {
  const std::string what = std::string("direction: both, message_size: 3000B") + kQuick;
  for (const auto& [turns, partners] : {std::pair("turns: 2, ", 2), std::pair("turns: 9, ", 5), std::pair("", 5)}) {
    const auto all = run_ranks(6, "rdma_write", turns + what);
    ASSERT_TRUE(all[0].pairs) << all[0].error;
    for (const std::vector<double>& row : all[0].pairs->rate)
      EXPECT_EQ(std::count_if(row.begin(), row.end(), [](double rate) { return rate > 0; }), partners) << turns;
  }
  const auto other_size = [&](const char* size) {
    return run_ranks(6, "rdma_write", std::string("turns: 2, direction: both, message_size: ") + size + kQuick)[0];
  };
  const auto met = [](const Outcome& o) {
    std::string pairs;
    for (const std::vector<double>& row : o.pairs->rate)
      for (const double rate : row) pairs += rate > 0 ? 'x' : '.';
    return pairs;
  };
  EXPECT_EQ(met(other_size("3000B")), met(other_size("3000B"))) << "the same in each run";
  EXPECT_NE(met(other_size("3000B")), met(other_size("3001B"))) << "more pairs are seen over several sizes";
}

TEST(RdmaPair, MovesTheDataOfAGpuOfEachRanksOwn) {
  const Cast two_nodes{.hosts = {"a", "a", "b", "b"}, .ports = {2, 2, 2, 2}, .team = {}};
  const std::string what = std::string("message_size: 3000B, memory: gpu") + kQuick;
  const auto nearest = run_cast(two_nodes, "rdma_write", what);
  for (const unsigned rank : {0u, 1u, 2u, 3u}) {
    EXPECT_EQ(nearest[rank].error, "");
    EXPECT_EQ(nearest[rank].gpus, std::set{rank % 2}) << "eight NICs would share one GPU's link";
  }
  for (const Outcome& o : run_cast(two_nodes, "rdma_write", "gpu: 3, " + what)) EXPECT_EQ(o.gpus, std::set{3u});
  EXPECT_EQ(run_cast(two_nodes, "rdma_write", "gpu: 4, " + what)[0].skip, "gpu: 4: here are 4");
  EXPECT_NE(problems_of("rdma_write", "{memory: gpu, gpu: near}").find("must be nearest, or a number"),
            std::string::npos);
  EXPECT_NE(problems_of("rdma_write", "{partition: 65536}").find("must be a P_Key"), std::string::npos);
  EXPECT_EQ(problems_of("rdma_write", "{partition: 0x8001, gpu: 1, device: 'mlx5_0,mlx5_3'}"), "");
}

bool notes_have(const Outcome& outcome, const std::string& words) {
  return std::any_of(outcome.notes.begin(), outcome.notes.end(),
                     [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

/// One process of each node drives all its ports at once, and each of them shows what it gives.
TEST(RdmaPair, DrivesSeveralPortsAtOnce) {
  for (const char* workload : {"rdma_write", "rdma_read", "rdma_send"}) {
    for (const char* direction : {"one_way", "both"}) {
      const bool both = std::string(direction) == "both";
      const auto all =
          run_cast({{"a", "b", "c"}, {3, 3, 3}, {}}, workload,
                   fmt::format("rails: all, direction: {}, message_size: 4KiB, queue_pairs: 2", direction) + kPatient);
      for (const Outcome& o : all) ASSERT_EQ(o.error + o.skip, "") << workload;
      EXPECT_EQ(all[0].workers, 3u);
      ASSERT_TRUE(all[0].pairs);
      EXPECT_EQ(all[0].pairs->rails, (std::vector<std::string>{"port 0", "port 1", "port 2"}));
      EXPECT_EQ(all[0].pairs->names.front(), "a port 0");
      EXPECT_EQ(measured(all[0].pairs).size(), (both ? 18u : 9u) * 16 + (both ? 17 : 8)) << measured(all[0].pairs);
      // Together more than the slowest alone, times as many.
      EXPECT_GE(all[0].metrics.at("slowest_bandwidth"),
                3 * (both ? 2 : 1) * all[0].metrics.at("nic_bandwidth") * 0.999999);
      EXPECT_NEAR(all[0].metrics.at("line_share"), all[0].metrics.at("bandwidth") / 30e9 / (both ? 2 : 1), 1e-9);
      EXPECT_TRUE(all[1].metrics.empty());
    }
  }
}

/// As on DGX Spark: each plug of the card is a function of two attachments to the host.
TEST(RdmaPair, APlugWithTwoFunctionsIsOneLine) {
  TemporaryFolder root;
  std::vector<RdmaPort> ports(4);
  std::vector<const RdmaPort*> all;
  const std::array names{"rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string device = std::string("sys/class/infiniband/") + names[i];
    const std::string function = fmt::format("sys/devices/pci{}/000{}:01:00.{}", i / 2, i / 2, i % 2);
    std::filesystem::create_directories(root / function);
    std::filesystem::create_directories(root / (device + "/ports/1"));
    std::filesystem::create_directory_symlink(root / function, root / (device + "/device"));
    root.write(device + "/sys_image_guid", "fc4c:ea03:00f9:4230\n");
    ports[i].device = names[i];
    ports[i].number = 1;
    ports[i].rate = 25e9;
    all.push_back(&ports[i]);
  }
  EXPECT_EQ(network::lines_of(all, root.path()).rate, 50e9) << "two plugs of 200 Gbit/s";
  EXPECT_EQ(network::lines_of(std::span(all).first(1), root.path()).rate, 25e9);
}

TEST(RdmaPair, AnOwnSlotPromisesTheSlowerRate) {
  TemporaryFolder root;
  RdmaPort port;
  port.device = "mlx5_0";
  port.rate = 50e9;
  const std::array<const RdmaPort*, 1> one{&port};
  const auto promised = [&] { return network::lines_of(one, root.path()).ports[0].promised(); };
  EXPECT_EQ(promised(), 50e9) << "/sys reports no slot";
  const std::string device = "sys/class/infiniband/mlx5_0/";
  std::filesystem::create_directories(root / (device + "ports/1"));
  for (const auto& [file, text] : {std::pair("current_link_speed", "16.0 GT/s PCIe"),
                                   {"max_link_speed", "32.0 GT/s PCIe"},
                                   {"current_link_width", "8"},
                                   {"max_link_width", "16"}})
    root.write(device + "device/" + file, std::string(text) + "\n");
  EXPECT_NEAR(promised(), 15.75e9, 0.02e9);
}

TEST(RdmaPair, PlanesGetEnoughQueuePairsToo) {
  TemporaryFolder root;
  RdmaPort port;
  port.device = "mlx5_0";
  port.rate = 100e9;  // "800 Gb/sec (4X XDR)": of all planes
  const std::array<const RdmaPort*, 1> one{&port};
  EXPECT_EQ(network::lines_of(one, root.path()).most_paths(), 4u);
  EXPECT_EQ(network::lines_of(one, root.path()).rate, 100e9);
  port.rate = 50e9;
  EXPECT_EQ(network::lines_of(one, root.path()).most_paths(), 1u);
  port.ethernet = true;  // RoCE: the rate of one plane, and the driver's word on their number
  port.rate = 25e9;
  port.lag_legs = 4;
  EXPECT_EQ(network::lines_of(one, root.path()).most_paths(), 4u);
  EXPECT_EQ(network::lines_of(one, root.path()).rate, 100e9);
}

TEST(RdmaPair, EnoughQueuePairsGoOverABond) {
  TemporaryFolder root;
  RdmaPort port;
  port.device = "mlx5_bond_0";
  port.number = 1;
  port.rate = 25e9;
  const std::array<const RdmaPort*, 1> bonded{&port};
  const auto lines = [&] { return network::lines_of(bonded, root.path()); };
  EXPECT_EQ(lines().most_paths(), 1u);
  EXPECT_EQ(lines().rate, 25e9) << "as the device itself reports it";
  port.lag_legs = 2;  // the driver's word, as in a container without the bond's interface
  EXPECT_EQ(lines().most_paths(), 2u);
  EXPECT_EQ(lines().rate, 50e9);
  root.write("sys/class/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/0", "bond0\n");
  for (const char* made : {"bonding", "lower_ens0f0np0", "lower_ens0f1np1"})
    std::filesystem::create_directories(root / (std::string("sys/class/net/bond0/") + made));
  EXPECT_EQ(lines().most_paths(), 2u);
  EXPECT_EQ(lines().rate, 50e9);
  root.write("sys/class/net/bond0/bonding/mode", "active-backup 1\n");
  EXPECT_EQ(lines().most_paths(), 1u) << "the other leg waits";
  EXPECT_EQ(lines().rate, 25e9);
  const auto pairs_of = [](const char* entry) {
    Diagnostics problems;
    const config::Value parsed = config::parse_yaml(entry, "test.yaml", problems);
    Params params("rdma_write", parsed, problems);
    network::RdmaTraffic traffic(params, RdmaOp::write);
    traffic.use_all(2);
    return traffic.queue_pairs;
  };
  EXPECT_EQ(pairs_of("{message_size: 4KiB}"), 8u);
  EXPECT_EQ(pairs_of("{message_size: 4KiB, queue_pairs: 3}"), 3u);
  EXPECT_EQ(pairs_of("{measure: latency}"), 1u);
}

TEST(RdmaPair, SharesANodesPortsAmongItsRanks) {
  const Cast two_each{{"a", "a", "b", "b"}, {4, 4, 4, 4}, {}};
  const std::string what = std::string("schedule: bisection, message_size: 4KiB, rails: ");
  const auto all = run_cast(two_each, "rdma_write", what + "all" + kPatient);
  for (const Outcome& o : all) ASSERT_EQ(o.error, "");
  EXPECT_EQ(all[0].workers, 2u);
  EXPECT_TRUE(notes_have(all[0], "a by host1/1"));
  EXPECT_TRUE(notes_have(all[1], "a by host2/1") && notes_have(all[1], "a by host3/1"));
  EXPECT_EQ(all[0].why_no_port, "") << "no two go by one port";
  EXPECT_EQ(run_cast(two_each, "rdma_write", what + "1" + kPatient)[0].workers, 1u);
  EXPECT_EQ(run_cast({{"a", "b"}, {4, 4}, {}}, "rdma_write", what + "3" + kPatient)[0].workers, 3u);
}

/// The rest goes on, and it is reported which port of which node is not measured, and what to do.
TEST(RdmaPair, LeavesAPortOutThatIsDownAtOneEnd) {
  const auto all = run_cast({{"a", "b"}, {3, 3}, {}, {{"b", {1}}}}, "rdma_write",
                            std::string("rails: all, message_size: 4KiB") + kPatient);
  for (const Outcome& o : all) ASSERT_EQ(o.error, "");
  EXPECT_EQ(measured(all[0].pairs), "a port 0b port 0 a port 2b port 2");
  EXPECT_TRUE(notes_have(all[0], "without port 1 of those that others drive: rank 1 (b)"));
  EXPECT_TRUE(notes_have(all[1], "host1/1 is DOWN: set its network interface up"));
  EXPECT_EQ(all[1].workers, 2u);
  const auto none = run_cast({{"a", "b"}, {2, 2}, {}, {{"b", {0, 1}}}}, "rdma_write",
                             std::string("rails: all, message_size: 4KiB") + kPatient);
  EXPECT_EQ(none[0].error.find("rank 1 (b): no RDMA port is active (host0/1 is DOWN, host1/1 is DOWN)"), 0u)
      << none[0].error;
}

TEST(RdmaPair, ReportsTheFaultOfOneOfSeveralPorts) {
  const auto failed = run_cast({{"a", "b"}, {2, 2}, {}}, "rdma_write",
                               std::string("rails: all, message_size: 4KiB") + kQuick, {.fails_with = 5, .after = 300});
  EXPECT_EQ(failed[0].error, "to rank 1 (b): status 5");
  const auto corrupt = run_cast({{"a", "b"}, {2, 2}, {}}, "rdma_write",
                                std::string("rails: all, message_size: 4KiB") + kQuick, {.corrupts = true});
  EXPECT_NE(corrupt[0].error.find("wrong data on b"), std::string::npos) << corrupt[0].error;
  EXPECT_NE(problems_of("rdma_write", "{rails: none}").find("must be all, or from 1 to 64"), std::string::npos);
  EXPECT_NE(problems_of("rdma_write", "{rails: 2, measure: latency}").find("latency is measured by one port"),
            std::string::npos);
  EXPECT_NE(problems_of("rdma_write", "{rails: all, schedule: rails}").find("one process for each port"),
            std::string::npos);
}

/// Datagrams: what arrived is counted, at the end where it arrived.
TEST(RdmaPair, CountsDatagramsThatArrive) {
  for (const char* more : {"message_size: 1B", "message_size: 1KiB, queue_pairs: 3, post_list: 4",
                           "message_size: 1KiB, direction: both, queue_pairs: 2", "message_size: 4KiB, rx_depth: 2"}) {
    const auto all = run_ranks(2, "rdma_send", std::string("transport: ud, ") + more + kPatient);
    ASSERT_EQ(all[0].error + all[1].error, "") << more;
    EXPECT_GT(all[0].metrics.at("bandwidth"), 0) << more;
    EXPECT_GE(all[0].metrics.at("lost_share"), 0) << more;
    for (const RdmaSettings& s : all[0].opened) EXPECT_EQ(s.transport, RdmaTransport::datagram);
  }
  const auto lossy =
      run_ranks(2, "rdma_send", std::string("transport: ud, message_size: 1KiB") + kPatient, {.drops = 4});
  ASSERT_EQ(lossy[0].error + lossy[1].error, "");
  EXPECT_GE(lossy[0].metrics.at("lost_share"), 0.2);
  const auto to_and_fro =
      run_ranks(2, "rdma_send", std::string("transport: ud, measure: latency, message_size: 64B") + kPatient);
  EXPECT_EQ(to_and_fro[0].error + to_and_fro[1].error, "");
  EXPECT_GT(to_and_fro[0].metrics.at("time_s"), 0);
}

/// The end of a stream is said again where its answer is late, and then comes when its pair has parted.
TEST(RdmaPair, ADatagramOfAPartedPairIsIgnored) {
  for (const char* direction : {"one_way", "both"}) {
    const auto all = run_ranks(
        3, "rdma_send",
        fmt::format("transport: ud, message_size: 1KiB, queue_pairs: 2, direction: {}{}", direction, kPatient),
        {.echoes = true}, 3);
    for (const Outcome& rank : all) EXPECT_EQ(rank.error, "") << direction;
    ASSERT_TRUE(all[0].metrics.contains("lost_share")) << direction;
    EXPECT_GT(all[0].metrics.at("bandwidth"), 0) << direction;
  }
}

TEST(RdmaPair, ADatagramThatComesIsWholeAndOneThatNeverComesIsReported) {
  const auto corrupt =
      run_ranks(2, "rdma_send", std::string("transport: ud, message_size: 1KiB") + kQuick, {.corrupts = true});
  EXPECT_NE(corrupt[0].error.find("wrong data on b"), std::string::npos) << corrupt[0].error;
  const auto none =
      run_ranks(2, "rdma_send", std::string("transport: ud, message_size: 1KiB") + kQuick, {.drops = 1}, 1);
  EXPECT_NE(none[0].error.find("nothing came from rank 0 (a) for 0.3 s"), std::string::npos) << none[0].error;
  EXPECT_NE(problems_of("rdma_write", "{transport: ud}").find("there is no writing or reading by them"),
            std::string::npos);
  EXPECT_NE(problems_of("rdma_send", "{transport: ud, message_size: 8KiB}").find("one packet"), std::string::npos);
  EXPECT_EQ(problems_of("rdma_send", "{transport: ud}"), "");
}

TEST(RdmaPair, ConnectsByTheKernelsManagerWhereAsked) {
  const auto asked = [](const std::string& more) {
    return run_ranks(2, "rdma_write", "message_size: 4KiB" + more + kQuick)[0].opened.at(0).managed;
  };
  EXPECT_FALSE(asked(""));
  EXPECT_TRUE(asked(", connect: rdma_cm"));
  EXPECT_NE(problems_of("rdma_write", "{connect: rdma_cm, flow_label: 5}").find("rdma_cm chooses"), std::string::npos);
  EXPECT_NE(problems_of("rdma_send", "{connect: rdma_cm, transport: ud}").find("of transport: rc"), std::string::npos);
}

TEST(RdmaPair, NeedsASecondProcess) {
  WorkloadRunner alone("rdma_write", "{message_size: 4KiB}");
  ASSERT_TRUE(alone.check());
  EXPECT_NE(alone.check()->reason.find("--peer HOST"), std::string::npos);
}

TEST(RdmaAllReduce, SumsOnEveryRank) {
  for (const unsigned ranks : {2u, 3u}) {
    for (const char* more : {"message_size: 4B", "message_size: 60004B, chunk: 4KiB, tx_depth: 2"}) {
      const auto all =
          run_ranks(ranks, "rdma_all_reduce", std::string(more) + ", time: 10ms, huge_pages: false, peer_timeout: 2s");
      for (const Outcome& o : all) {
        EXPECT_EQ(o.error, "") << ranks << " " << more;
        ASSERT_TRUE(o.metrics.contains("busbw")) << ranks << " " << more;
        EXPECT_NEAR(o.metrics.at("busbw") / o.metrics.at("algbw"), 2.0 * (ranks - 1) / ranks, 1e-9);
        EXPECT_EQ(o.operations, all[0].operations);
        ASSERT_TRUE(o.group);
        EXPECT_EQ(o.group->ranks, ranks);
        EXPECT_EQ(o.group->nodes, ranks);
      }
    }
  }
}

/// A ring within one host answers for no groups that leave it.
TEST(RdmaAllReduce, ReportsItsGroup) {
  const std::string quick = "message_size: 4KiB, time: 10ms, huge_pages: false, peer_timeout: 2s";
  const Outcome within = run_cast({{"a", "a"}, {2, 2}, {}}, "rdma_all_reduce", quick)[0];
  ASSERT_TRUE(within.group) << within.error;
  EXPECT_EQ(within.group->ranks, 2u);
  EXPECT_EQ(within.group->nodes, 1u);
  const Outcome some = run_cast({{"a", "a", "b", "b"}, {1, 1, 1, 1}, {0, 2}}, "rdma_all_reduce", quick)[0];
  ASSERT_TRUE(some.group) << some.error;
  EXPECT_EQ(some.group->ranks, 2u);  // of those that take part
  EXPECT_EQ(some.group->nodes, 2u);
  EXPECT_EQ(some.group->groups, 1u);
}

TEST(RdmaAllReduce, NamesANeighbourThatIsSilent) {
  const auto all =
      run_ranks(3, "rdma_all_reduce", "message_size: 4KiB, time: 10ms, huge_pages: false, peer_timeout: 300ms",
                {.loses = true}, 1);
  for (const Outcome& o : all) EXPECT_NE(o.error.find("rank "), std::string::npos) << o.error;
}

/// A leader and a follower over a socket, as `run --peer` and `serve` are.
struct Followed : ::testing::Test {
  std::shared_ptr<HostFabric> fabric = std::make_shared<HostFabric>();
  std::vector<std::string> said;
  std::map<std::string, double> metrics;

  /// What the leader's run threw, or "".
  std::string lead(const std::string& workload, const std::string& parameters, bool follower_has_rdma = true) {
    peer::Listener listener({"127.0.0.1", 0}, "word");
    auto follower = std::async(std::launch::async, [&] {
      const std::shared_ptr<peer::TcpPeer> leader = listener.accept(
          5, [](const std::string&) {}, [] { return false; });
      Node node("");
      if (follower_has_rdma) node.backends().replace_rdma(std::make_unique<HostRdmaBackend>(fabric));
      node.meet(leader);
      peer::follow(*leader, node, 5, [&](const std::string& text) { said.push_back(text); });
    });
    std::string error;
    {
      const std::shared_ptr<peer::TcpPeer> own =
          peer::meet(peer::parse_endpoint(listener.address(), "--peer"), "word", 5);
      WorkloadRunner runner(workload, "{" + parameters + "}");
      runner.node().meet(own);
      runner.node().backends().replace_rdma(std::make_unique<HostRdmaBackend>(fabric));
      try {
        runner.prepare();
        runner.repeat(1);
        runner.repeat(2);
        metrics = runner.metrics;
      } catch (const std::exception& e) {
        error = e.what();
      }
    }
    follower.get();
    return error;
  }
};

TEST_F(Followed, MakesTheOtherEndOfEveryWorkload) {
  for (const char* workload : {"rdma_write", "rdma_read", "rdma_send"}) {
    EXPECT_EQ(lead(workload, std::string("message_size: 4KiB, device: host0") + kQuick), "") << workload;
    EXPECT_GT(metrics["bandwidth"], 0);
    EXPECT_EQ(said.back(), workload);
  }
  EXPECT_EQ(lead("rdma_all_reduce", "message_size: 4KiB, time: 10ms"), "");
}

TEST_F(Followed, ReportsTheFailureThere) {
  fabric->faults.corrupts = true;
  EXPECT_NE(lead("rdma_write", std::string("message_size: 4KiB") + kQuick).find("wrong data on"), std::string::npos);
  EXPECT_NE(said.back().find("wrong data"), std::string::npos);
}

TEST_F(Followed, SaysThatThereIsNoDeviceThere) {
  if (Node("").backends().why_not("verbs").empty()) GTEST_SKIP() << "this machine has an RDMA device";
  EXPECT_NE(lead("rdma_write", std::string("message_size: 4KiB") + kQuick, false).find("verbs: "), std::string::npos);
}

}  // namespace
}  // namespace headrace::testing::rdma_workloads_test
