// The RDMA workloads on devices that are host memory: both ends of a pair, a ring of several ranks, a follower that is
// told each step; and what is said when data is wrong or nothing comes.
#include <gtest/gtest.h>

#include <future>
#include <mutex>

#include "harness/peer/follow.h"
#include "harness/peer/listener.h"
#include "tests/unit/host_gpu.h"
#include "tests/unit/host_rdma.h"
#include "tests/unit/thread_ranks.h"
#include "tests/unit/workload_runner.h"

namespace headrace::testing {
namespace {

constexpr const char* kQuick = ", time: 10ms, buffer: 64KiB, huge_pages: false, peer_timeout: 300ms";

/// What each rank's last repetition reported, and what it threw.
struct Outcome {
  std::map<std::string, double> metrics;
  std::uint64_t operations = 0;
  std::string error;
};

std::vector<Outcome> run_ranks(unsigned ranks, const std::string& workload, const std::string& parameters,
                               HostRdmaFaults faults = {}, unsigned repetitions = 2) {
  const auto fabric = std::make_shared<HostFabric>();
  fabric->faults = faults;
  std::vector<std::string> hosts;
  for (unsigned r = 0; r < ranks; ++r) hosts.push_back(std::string(1, static_cast<char>('a' + r)));
  std::vector<Outcome> outcomes(ranks);
  on_ranks(hosts, 5, [&](std::unique_ptr<Ranks> own) {
    Outcome& outcome = outcomes[own->rank()];
    WorkloadRunner runner(workload, "{" + parameters + "}");
    runner.node().join(std::shared_ptr<Ranks>(std::move(own)));
    runner.node().backends().replace_rdma(std::make_unique<HostRdmaBackend>(fabric));
    if (parameters.find("memory: gpu") != std::string::npos)
      runner.node().backends().replace_gpu(std::make_unique<HostGpuBackend>(HostBackendSettings{}));
    try {
      EXPECT_FALSE(runner.check());
      runner.prepare();
      for (unsigned i = 0; i < repetitions; ++i) outcome.operations = runner.repeat(i + 1).phases[0].operations;
      outcome.metrics = runner.metrics;
    } catch (const std::exception& e) {
      outcome.error = e.what();
    }
  });
  return outcomes;
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
                first.metrics.at("bandwidth") / 10e9 / (std::string(more).find("both") == std::string::npos ? 1 : 2), 1e-9);
    EXPECT_TRUE(second.metrics.empty()) << more;
  }
}

TEST_P(RdmaPairs, GoToAndFro) {
  for (const char* more : {"message_size: 1B", "message_size: 4KiB"}) {
    const auto all = run_ranks(2, GetParam(), std::string("measure: latency, ") + more + kQuick);
    EXPECT_EQ(all[0].error + all[1].error, "") << more;
    EXPECT_GT(all[0].operations, 0u) << more;
    EXPECT_TRUE(all[0].metrics.empty()) << more;
  }
}

TEST_P(RdmaPairs, TellWrongData) {
  const auto all = run_ranks(2, GetParam(), std::string("message_size: 4KiB") + kQuick, {.corrupts = true});
  const std::string where = std::string(GetParam()) == "rdma_read" ? "a" : "b";
  EXPECT_TRUE(all[0].error.starts_with("wrong data on " + where + ": message buffer 0 at offset 0")) << all[0].error;
  EXPECT_EQ(all[1].error, all[0].error);
}

TEST_P(RdmaPairs, NameWhoIsSilent) {
  for (const char* measure : {"bandwidth", "latency"}) {
    const auto all = run_ranks(2, GetParam(), std::string("message_size: 4KiB, measure: ") + measure + kQuick,
                               {.loses = true}, 1);
    EXPECT_NE(all[0].error.find("nothing came from rank 1 (b) for 0.3 s (peer_timeout): it is gone, or the network"), std::string::npos)
        << all[0].error;
  }
}

TEST_P(RdmaPairs, SayWhyTheDeviceFailed) {
  const auto all = run_ranks(2, GetParam(), std::string("message_size: 4KiB") + kQuick, {.fails_with = 5}, 1);
  EXPECT_EQ(all[0].error, "to rank 1 (b): status 5");
}

TEST_P(RdmaPairs, LeaveTheOddRankOut) {
  const auto all = run_ranks(3, GetParam(), std::string("message_size: 4KiB") + kQuick);
  for (const Outcome& o : all) EXPECT_EQ(o.error, "");
  EXPECT_EQ(all[2].operations, 0u);
}

INSTANTIATE_TEST_SUITE_P(Rdma, RdmaPairs, ::testing::Values("rdma_write", "rdma_read", "rdma_send"));

TEST(RdmaPair, RefusesWhatDoesNotFit) {
  EXPECT_NE(problems_of("rdma_write", "{measure: latency, direction: both}").find("direction"), std::string::npos);
  EXPECT_NE(problems_of("rdma_write", "{measure: latency, queue_pairs: 2}").find("queue_pairs"), std::string::npos);
  EXPECT_NE(problems_of("rdma_write", "{mtu: 1500}").find("must be 0, 256, 512, 1024, 2048 or 4096"), std::string::npos);
  EXPECT_EQ(problems_of("rdma_write", "{mtu: 1024}"), "");
}

/// Memory that no processor here may touch but by copies; without dma-buf it is enrolled as peermem would have it.
TEST(RdmaPair, MovesWhatIsInGpus) {
  for (const char* workload : {"rdma_write", "rdma_read", "rdma_send"}) {
    const auto all = run_ranks(2, workload, std::string("message_size: 3000B, memory: gpu") + kQuick);
    EXPECT_EQ(all[0].error + all[1].error, "") << workload;
    EXPECT_GT(all[0].metrics.at("bandwidth"), 0) << workload;
  }
  const auto wrong = run_ranks(2, "rdma_write", std::string("message_size: 4KiB, memory: gpu") + kQuick, {.corrupts = true});
  EXPECT_TRUE(wrong[0].error.starts_with("wrong data on b")) << wrong[0].error;
  EXPECT_NE(problems_of("rdma_send", "{measure: latency, memory: gpu}").find("rdma_read's"), std::string::npos);
}

TEST(RdmaPair, NeedsASecondProcess) {
  WorkloadRunner alone("rdma_write", "{message_size: 4KiB}");
  ASSERT_TRUE(alone.check());
  EXPECT_NE(alone.check()->reason.find("--peer HOST"), std::string::npos);
}

TEST(RdmaAllReduce, SumsOnEveryRank) {
  for (const unsigned ranks : {2u, 3u}) {
    for (const char* more : {"message_size: 4B", "message_size: 60004B, chunk: 4KiB, tx_depth: 2"}) {
      const auto all = run_ranks(ranks, "rdma_all_reduce", std::string(more) + ", time: 10ms, huge_pages: false, peer_timeout: 2s");
      for (const Outcome& o : all) {
        EXPECT_EQ(o.error, "") << ranks << " " << more;
        ASSERT_TRUE(o.metrics.contains("busbw")) << ranks << " " << more;
        EXPECT_NEAR(o.metrics.at("busbw") / o.metrics.at("algbw"), 2.0 * (ranks - 1) / ranks, 1e-9);
        EXPECT_EQ(o.operations, all[0].operations);
      }
    }
  }
}

TEST(RdmaAllReduce, NamesANeighbourThatIsSilent) {
  const auto all = run_ranks(3, "rdma_all_reduce", "message_size: 4KiB, time: 10ms, huge_pages: false, peer_timeout: 300ms",
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
      const std::shared_ptr<peer::TcpPeer> leader = listener.accept(5, [](const std::string&) {}, [] { return false; });
      Node node("");
      if (follower_has_rdma) node.backends().replace_rdma(std::make_unique<HostRdmaBackend>(fabric));
      node.meet(leader);
      peer::follow(*leader, node, 5, [&](const std::string& text) { said.push_back(text); });
    });
    std::string error;
    {
      const std::shared_ptr<peer::TcpPeer> own = peer::meet(peer::parse_endpoint(listener.address(), "--peer"), "word", 5);
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

TEST_F(Followed, SaysWhatFailedThere) {
  fabric->faults.corrupts = true;
  EXPECT_NE(lead("rdma_write", std::string("message_size: 4KiB") + kQuick).find("wrong data on"), std::string::npos);
  EXPECT_NE(said.back().find("wrong data"), std::string::npos);
}

TEST_F(Followed, SaysThatThereIsNoDeviceThere) {
  if (Node("").backends().why_not("verbs").empty()) GTEST_SKIP() << "this machine has an RDMA device";
  EXPECT_NE(lead("rdma_write", std::string("message_size: 4KiB") + kQuick, false).find("verbs: "), std::string::npos);
}

}  // namespace
}  // namespace headrace::testing
