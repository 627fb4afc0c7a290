#include "harness/engine/rank_sync.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <mutex>

#include "harness/engine/engine.h"
#include "tests/unit/scripted_workload.h"
#include "tests/unit/thread_ranks.h"

namespace headrace::rank_sync_test {
namespace {

using testing::operations;
using testing::ScriptedPlan;
using testing::ScriptedWorkload;

const std::vector<std::string> kHosts{"node1", "node1", "node2"};

EngineLimits quick() {
  EngineLimits limits;
  limits.mind_neighbours = limits.touch_memory = false;
  limits.confirm_rest_s = 0;
  return limits;
}

/// Runs the same plan on each rank; `script` reports each rank's workload what to do. Gives rank 0's
/// result.
RunResult run_on_ranks(
    const std::function<void(unsigned rank, ScriptedWorkload&)>& script,
    const std::function<void(Point&)>& point = [](Point&) {}) {
  RunResult first;
  std::vector<std::unique_ptr<ScriptedPlan>> plans;
  for (std::size_t r = 0; r < kHosts.size(); ++r) plans.push_back(std::make_unique<ScriptedPlan>());
  on_ranks(kHosts, 10, [&](std::unique_ptr<Ranks> ranks) {
    const unsigned rank = ranks->rank();
    ScriptedPlan& plan = *plans[rank];
    script(rank, *plan.add());
    plan.plan.points[0].repeat.looks = {2};
    point(plan.plan.points[0]);
    Node node("no-such-folder");
    const std::shared_ptr<Ranks> shared = std::move(ranks);
    node.join(shared);
    RunObserver nobody;
    RunResult result = run_plan(plan.plan, node, nobody, quick());
    shared->barrier("the end", 10);
    if (rank == 0) first = std::move(result);
  });
  first.plan = nullptr;
  for (PointResult& p : first.points) p.point = nullptr;
  return first;
}

TEST(RankSync, AddsUpTheWorkOfRanks) {
  const RunResult result = run_on_ranks([](unsigned rank, ScriptedWorkload& w) {
    w.on_run = [rank](Worker& worker) { operations(worker, 1000 * (rank + 1), 100); };
  });
  const PointResult& point = result.points.at(0);
  ASSERT_EQ(point.status, PointStatus::ok) << point.reason;
  ASSERT_EQ(point.repetitions.size(), 2u);
  EXPECT_EQ(point.nodes, 2u);
  for (const Repetition& r : point.repetitions) {
    const PhaseResult& phase = r.phases.at(0);
    EXPECT_EQ(phase.operations, 6000u);
    EXPECT_EQ(phase.bytes, 600'000u);
    EXPECT_EQ(phase.latency.total(), 6000u);
    ASSERT_EQ(phase.ranks.size(), 3u);
    EXPECT_EQ(phase.ranks[2].operations, 3000u);
    double slowest = 0, first = 1e9;
    for (const RankPhase& rank : phase.ranks) {
      slowest = std::max(slowest, rank.elapsed_s);
      first = std::min(first, rank.first_finish_s);
    }
    EXPECT_DOUBLE_EQ(phase.elapsed_s, slowest);
    EXPECT_DOUBLE_EQ(phase.first_finish_s, first);
    for (const MetricValue& m : r.metrics) {
      if (m.name == "read_bandwidth") {
        EXPECT_NEAR(m.value, 600'000 / phase.elapsed_s, 1e-3 * m.value);
      }
    }
  }
}

/// Processes of one node that pinned their workers would meet on the same processor: binding is the
/// launcher's.
TEST(RankSync, WorkersAreBoundToNoSingleProcessor) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const auto same = [&](bool expected) {
    return [&allowed, expected](Worker& worker) {
      cpu_set_t own;
      ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
      EXPECT_EQ(CPU_EQUAL(&own, &allowed) != 0, expected);
      operations(worker, 10, 100);
    };
  };
  const RunResult result = run_on_ranks([&](unsigned, ScriptedWorkload& w) { w.on_run = same(true); });
  EXPECT_EQ(result.points.at(0).status, PointStatus::ok) << result.points.at(0).reason;
  if (CPU_COUNT(&allowed) == 1) return;
  ScriptedPlan alone;
  alone.add()->on_run = same(false);
  alone.plan.points[0].repeat.looks = {2};
  Node node("no-such-folder");
  RunObserver nobody;
  EXPECT_EQ(run_plan(alone.plan, node, nobody, quick()).points.at(0).status, PointStatus::ok);
}

TEST(RankSync, ARankThatThrowsEndsTheRepetitionForAll) {
  std::mutex mutex;
  unsigned ran = 0;
  const RunResult result = run_on_ranks([&](unsigned rank, ScriptedWorkload& w) {
    w.on_run = [&, rank](Worker& worker) {
      operations(worker, 10, 100);
      const std::lock_guard lock(mutex);
      ++ran;
      if (rank == 2) throw RunError("disk on fire");
    };
  });
  const PointResult& point = result.points.at(0);
  EXPECT_EQ(point.status, PointStatus::error);
  EXPECT_NE(point.reason.find("rank 2 (node2): disk on fire"), std::string::npos) << point.reason;
  EXPECT_EQ(ran, 6u);  // both repetitions, on each
}

TEST(RankSync, AFailedSetUpOnOneRankStartsNone) {
  std::atomic<unsigned> ran{0};
  const RunResult result = run_on_ranks([&](unsigned rank, ScriptedWorkload& w) {
    w.on_before_run = [rank](Worker&) {
      if (rank == 1) throw RunError("no ring");
    };
    w.on_run = [&](Worker&) { ++ran; };
  });
  EXPECT_NE(result.points.at(0).reason.find("rank 1 (node1): no ring"), std::string::npos);
  EXPECT_EQ(ran, 0u);
}

TEST(RankSync, AMissingPartOfOneRankSkipsAll) {
  const RunResult result = run_on_ranks([](unsigned rank, ScriptedWorkload& w) {
    w.on_check = [rank]() -> std::optional<Skip> {
      if (rank == 2) return Skip{"no such device"};
      return std::nullopt;
    };
  });
  EXPECT_EQ(result.points.at(0).status, PointStatus::skipped);
  EXPECT_EQ(result.points.at(0).reason, "rank 2 (node2): no such device");
}

TEST(RankSync, PreparationThatFailsIsNamed) {
  const RunResult result = run_on_ranks([](unsigned rank, ScriptedWorkload& w) {
    w.on_prepare = [rank](const DataProgress&) {
      if (rank == 1) throw RunError("disk full");
    };
  });
  EXPECT_EQ(result.points.at(0).status, PointStatus::error);
  EXPECT_EQ(result.points.at(0).reason, "rank 1 (node1): disk full");
}

TEST(RankSync, ARankPerNode) {
  const RunResult result = run_on_ranks(
      [](unsigned, ScriptedWorkload& w) { w.on_run = [](Worker& worker) { operations(worker, 1000, 1); }; },
      [](Point& p) { p.one_per_node = true; });
  const auto& ranks = result.points.at(0).repetitions.at(0).phases.at(0).ranks;
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].rank, 0u);
  EXPECT_EQ(ranks[1].rank, 2u);
}

TEST(RankSync, VerifiesOnAllRanks) {
  const RunResult result = run_on_ranks(
      [](unsigned rank, ScriptedWorkload& w) {
        w.on_run = [](Worker& worker) { operations(worker, 10, 1); };
        w.on_verify = [rank] {
          return rank == 2 ? std::vector<WrongBlock>{{"f", 0, "all zero"}} : std::vector<WrongBlock>{};
        };
      },
      [](Point& p) { p.verify = true; });
  EXPECT_EQ(result.points.at(0).status, PointStatus::error);
  EXPECT_NE(result.points.at(0).reason.find("rank 2 (node2): verify found wrong data"), std::string::npos)
      << result.points.at(0).reason;
}

TEST(RankSync, TeamsSpreadOverNodes) {
  on_ranks({"a", "a", "b", "b"}, 10, [](std::unique_ptr<Ranks> ranks) {
    using engine::team_of;
    EXPECT_EQ(team_of(*ranks, false, 0), (std::vector<unsigned>{0, 1, 2, 3}));
    EXPECT_EQ(team_of(*ranks, true, 0), (std::vector<unsigned>{0, 2}));
    EXPECT_EQ(team_of(*ranks, false, 2), (std::vector<unsigned>{0, 2}));
    EXPECT_EQ(team_of(*ranks, false, 3), (std::vector<unsigned>{0, 1, 2}));
    EXPECT_TRUE(team_of(*ranks, true, 3).empty());
  });
}

}  // namespace
}  // namespace headrace::rank_sync_test
