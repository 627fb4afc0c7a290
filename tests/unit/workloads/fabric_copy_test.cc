// fabric_copy on GPUs that are the host: who takes part, what is measured, what is found.
#include <gtest/gtest.h>

#include "tests/unit/gpu_run.h"
#include "tests/unit/thread_ranks.h"
#include "tests/unit/workload_runner.h"

namespace headrace::fabric_copy_test {
namespace {

constexpr const char* kSmall = "use: fabric_copy, size: 1MiB, copies: 4";

struct FabricTest : testing::GpuRun {
  FabricTest() {
    settings.gpus.resize(3, testing::HostGpuSettings{});
    for (testing::HostGpuSettings& gpu : settings.gpus) gpu.facts.fabric_group = "c/1", gpu.facts.memory = 16 << 20;
  }
};

TEST_F(FabricTest, EachGpuWritesToTheNextAtThePeersRate) {
  const PointResult p = run_one(kSmall);
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  for (const char* gpu : {"", "_gpu0", "_gpu1", "_gpu2"}) {
    EXPECT_NEAR(metric(p, std::string("bandwidth") + gpu), settings.gpus[0].peer, 0.01 * settings.gpus[0].peer);
    EXPECT_EQ(metric(p, std::string("wrong_elements") + gpu), 0);
  }
  EXPECT_EQ(gpus->objects(), 0);
}

TEST_F(FabricTest, AChangedBitFailsTheGpuThatWroteIt) {
  settings.gpus[1].flips_after = 0;
  const RunResult r = run({kSmall});
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_EQ(r.judgements[0].scope, "gpu1");
  EXPECT_EQ(r.judgements[0].outcome, Outcome::fail);
  EXPECT_EQ(r.summary.exit_code, 10);
}

TEST_F(FabricTest, AGpuThatIsLostLeavesTheOthersTheirValues) {
  settings.gpus[1].lost_after = 8;
  const RunResult r = run({kSmall});
  EXPECT_EQ(r.points[0].status, PointStatus::ok) << r.points[0].reason;
  EXPECT_TRUE(has(r.points[0], "bandwidth_gpu0") && has(r.points[0], "bandwidth_gpu2"));
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_EQ(r.judgements[0].scope, "gpu1");
}

TEST_F(FabricTest, IsSkippedWithTheReason) {
  const auto reason = [&] { return run_one(kSmall).reason; };
  settings.gpus[2].no_sharing = "not permitted: no IMEX channel";
  EXPECT_NE(reason().find("no IMEX channel"), std::string::npos);
  settings.gpus[1].facts.fabric = GpuFacts::kFabricNotStarted;
  EXPECT_NE(reason().find("gpu1: the switches between GPUs: not started"), std::string::npos);
  settings.gpus[0].facts.fabric_group.clear();
  EXPECT_NE(reason().find("gpu0 is in no NVLink fabric of several nodes"), std::string::npos);
  settings.gpus.resize(1);
  settings.gpus[0].facts.fabric_group = "c/1";
  EXPECT_NE(reason().find("one GPU alone"), std::string::npos);
}

/// Of each node what it reports, or why it does not. `gpus`, `groups`: of each node.
std::vector<std::string> on_nodes(const std::vector<unsigned>& gpus, const std::vector<std::string>& groups,
                                  std::vector<std::map<std::string, double>>& metrics) {
  std::vector<std::string> hosts, reasons(gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) hosts.push_back("tray" + std::to_string(i));
  metrics.resize(gpus.size());
  on_ranks(hosts, 30, [&](std::unique_ptr<Ranks> own) {
    const unsigned rank = own->rank();
    const std::shared_ptr<Ranks> ranks = std::move(own);
    testing::WorkloadRunner runner("fabric_copy", "{size: 64KiB, copies: 2}");
    runner.node().join(ranks);
    testing::HostBackendSettings settings;
    settings.gpus.resize(gpus[rank]);
    for (testing::HostGpuSettings& gpu : settings.gpus) gpu.facts.fabric_group = groups[rank];
    runner.node().backends().replace_gpu(std::make_unique<testing::HostGpuBackend>(settings));
    try {
      if (const auto skip = runner.check()) throw Unsupported(skip->reason);
      runner.prepare();
      runner.repeat();
      metrics[rank] = runner.metrics;
    } catch (const std::exception& e) {
      reasons[rank] = e.what();
    }
    ranks->barrier("all are done", 60);
  });
  return reasons;
}

TEST(FabricOfNodes, EachNodeWritesIntoTheNextOne) {
  std::vector<std::map<std::string, double>> metrics;
  EXPECT_EQ(on_nodes({1, 1, 1}, {"c/1", "c/1", "c/1"}, metrics), std::vector<std::string>(3));
  for (const auto& own : metrics) {
    EXPECT_GT(own.at("bandwidth_gpu0"), 0);
    EXPECT_EQ(own.at("wrong_elements"), 0);
  }
}

TEST(FabricOfNodes, NodesThatDoNotBelongTogetherAreNamed) {
  std::vector<std::map<std::string, double>> metrics;
  for (const std::string& reason : on_nodes({2, 2}, {"c/1", "c/2"}, metrics))
    EXPECT_NE(reason.find("another fabric or clique"), std::string::npos) << reason;
  for (const std::string& reason : on_nodes({2, 1}, {"c/1", "c/1"}, metrics))
    EXPECT_NE(reason.find(" GPUs, and "), std::string::npos) << reason;
  for (const std::string& reason : on_nodes({2, 2}, {"c/1", ""}, metrics))
    EXPECT_NE(reason.find("in no NVLink fabric of several nodes"), std::string::npos) << reason;
}

}  // namespace
}  // namespace headrace::fabric_copy_test
