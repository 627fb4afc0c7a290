// nic_loopback on devices that are host memory: each port alone, what is found, which port is named.
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/gpu_run.h"
#include "tests/unit/host_rdma.h"

namespace headrace::nic_loopback_test {
namespace {

constexpr const char* kQuick = "use: nic_loopback, time: 10ms, buffer: 64KiB";

struct LoopbackTest : testing::GpuRun {
  PointResult run_ports(const std::string& more = "") { return run_all(more).points.at(0); }
  RunResult run_all(const std::string& more = "", const std::string& needs = "") {
    node.backends().replace_rdma(std::make_unique<testing::HostRdmaBackend>(fabric, ports, down, "node1"));
    return run({kQuick + more}, needs);
  }
  std::shared_ptr<testing::HostFabric> fabric = std::make_shared<testing::HostFabric>();
  unsigned ports = 3;
  std::vector<unsigned> down;
};

TEST_F(LoopbackTest, EachPortThatIsUpIsMeasured) {
  down = {1};
  for (const char* memory : {"", ", memory: gpu", ", message_size: 64B"}) {
    const PointResult p = run_ports(memory);
    ASSERT_EQ(p.status, PointStatus::ok) << memory << p.reason;
    for (const char* port : {"", "_host0_1", "_host2_1"}) {
      EXPECT_GT(metric(p, std::string("bandwidth") + port), 0) << port;
      EXPECT_GT(metric(p, std::string("pace") + port), 0) << port;
      EXPECT_EQ(metric(p, std::string("wrong_messages") + port), 0) << port;
    }
    EXPECT_FALSE(has(p, "bandwidth_host1_1"));
    EXPECT_TRUE(noted(p, "host1/1 is not tested: DOWN"));
    EXPECT_LE(metric(p, "pace"), 1);
  }
}

TEST_F(LoopbackTest, WrongDataFailsItsPort) {
  fabric->faults.corrupts = true;
  ports = 1;
  const RunResult r = run_all();
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_EQ(r.judgements[0].scope, "host0/1");
  EXPECT_EQ(r.judgements[0].outcome, Outcome::fail);
  EXPECT_NE(r.judgements[0].explanation.find("differs from the sent data"), std::string::npos)
      << r.judgements[0].explanation;
  EXPECT_EQ(r.summary.exit_code, 10);
}

TEST_F(LoopbackTest, APortThatFailsAmongOthersIsNamedAndTheyAreMeasured) {
  fabric->faults.cut = {{"node1 host1", "node1 host1"}};
  const RunResult r = run_all();
  EXPECT_EQ(r.points[0].status, PointStatus::ok) << r.points[0].reason;
  EXPECT_TRUE(has(r.points[0], "bandwidth_host0_1") && has(r.points[0], "bandwidth_host2_1"));
  EXPECT_FALSE(has(r.points[0], "bandwidth_host1_1"));
  ASSERT_EQ(r.judgements.size(), 1u);
  EXPECT_EQ(r.judgements[0].scope, "host1/1");
  EXPECT_EQ(r.summary.exit_code, 10);
}

TEST_F(LoopbackTest, IfNonePassesAnythingNoPortIsBlamed) {
  ports = 2;
  fabric->faults.cut = {{"node1 host0", "node1 host0"}, {"node1 host1", "node1 host1"}};
  const RunResult r = run_all();
  EXPECT_EQ(r.points[0].status, PointStatus::error);
  EXPECT_TRUE(r.judgements.empty());
}

// As in configs/burn-in.yaml.
constexpr const char* kNeeds =
    "needs:\n  - {id: nic.pace, metric: nic_loopback.pace, at_least: 0.5, optional: true}\n"
    "  - {id: nic.promised, metric: nic_loopback.promised_share, at_least: 0.02, optional: true}\n";

TEST_F(LoopbackTest, ASlowPortFailsAndIsNamed) {
  const auto outcomes = [](const RunResult& r) {
    std::map<std::string, Outcome> all;
    for (const Judgement& j : r.judgements) all[j.id] = j.outcome;
    return all;
  };
  looks = 5;  // three decide nothing
  std::map<std::string, Outcome> all = outcomes(run_all("", kNeeds));
  EXPECT_NE(all.at("nic.promised"), Outcome::fail);  // 200 MB/s of 10 GB/s
  fabric->faults.slow = {"node1 host1"};
  RunResult r = run_all(", message_size: 4KiB", kNeeds);
  all = outcomes(r);
  EXPECT_EQ(all.at("nic.pace"), Outcome::fail);
  EXPECT_EQ(all.at("nic.promised"), Outcome::fail);  // 4 MB/s
  for (const Judgement& j : r.judgements) {
    EXPECT_NE(j.explanation.find("Of 3 ports, 2 meet it, but not host1_1 ("), std::string::npos) << j.explanation;
    EXPECT_EQ(j.explanation.find("host2"), std::string::npos) << j.explanation;
  }
  EXPECT_EQ(r.summary.exit_code, 10);
  // A port without sisters is as fast as the median of its kind: what it promises decides.
  ports = 2;
  down = {0};
  all = outcomes(run_all(", message_size: 4KiB", kNeeds));
  EXPECT_EQ(all.at("nic.pace"), Outcome::pass);
  EXPECT_EQ(all.at("nic.promised"), Outcome::fail);
}

TEST_F(LoopbackTest, OptionalNeedsAreNotJudgedWithoutPorts) {
  down = {0, 1, 2};
  RunResult r = run_all("", kNeeds);
  EXPECT_TRUE(r.judgements.empty());
  EXPECT_EQ(r.points[0].status, PointStatus::skipped);
  std::string asked = kNeeds;
  for (std::size_t at; (at = asked.find(", optional: true")) != asked.npos;) asked.erase(at, 16);
  r = run_all("", asked);
  ASSERT_EQ(r.judgements.size(), 2u);
  EXPECT_EQ(r.judgements[0].outcome, Outcome::skipped);
  down.clear();
  fabric->faults.cut = {{"node1 host0", "node1 host0"}, {"node1 host1", "node1 host1"}, {"node1 host2", "node1 host2"}};
  r = run_all("", kNeeds);
  ASSERT_EQ(r.judgements.size(), 2u) << "a failure is no lack";
  EXPECT_EQ(r.judgements[0].outcome, Outcome::error);
}

TEST_F(LoopbackTest, IsSkippedWithTheReason) {
  down = {0, 1, 2};
  EXPECT_EQ(run_ports().reason, "no RDMA port is up");
  down.clear();
  settings.unusable = "libcuda.so.1 not found: no NVIDIA driver";
  EXPECT_NE(run_ports(", memory: gpu").reason.find("libcuda.so.1 not found"), std::string::npos);
  EXPECT_EQ(run_ports(", device: host0").status, PointStatus::ok);
}

}  // namespace
}  // namespace headrace::nic_loopback_test
