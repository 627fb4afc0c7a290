#include "harness/workload/data/pipeline/step_barrier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "harness/base/clock.h"
#include "tests/unit/thread_ranks.h"

namespace headrace::pipeline::step_barrier_test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

/// Enough nodes that one passes on what a third said: two levels of the tree.
std::vector<std::string> nodes(unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i) names.push_back("node" + std::to_string(i));
  return names;
}

/// A recorder that goes on for so long.
struct Started {
  std::atomic<bool> stop{false};
  Recorder recorder;
  explicit Started(double seconds = 100) {
    recorder.start(now_ns() + static_cast<std::uint64_t>(1e9 * seconds), &stop);
  }
};

TEST(ClockAhead, LiesBetweenItsBoundsAndFollowsClocksThatDrift) {
  ClockAhead ahead;
  ahead.at_least(100);
  ahead.at_most(300);
  EXPECT_EQ(ahead.ns(), 200);
  ahead.at_least(50);
  ahead.at_most(400);
  EXPECT_EQ(ahead.ns(), 200) << "looser bounds say nothing new";
  ahead.at_least(350);
  EXPECT_EQ(ahead.ns(), 350) << "the newest holds";
  ahead.at_most(-20);
  EXPECT_EQ(ahead.ns(), -20);
}

TEST(StepBarrier, AStepEndsForAllWhenTheSlowestNodesDoes) {
  constexpr unsigned kNodes = 11;
  for (const unsigned slowest : {0u, 1u, 10u}) {
    on_ranks(nodes(kNodes), 10, [&](std::unique_ptr<Ranks> ranks) {
      StepBarrier barrier(*ranks, ranks->everyone());
      const Started started;
      for (int phase = 0; phase < 2; ++phase) {
        ASSERT_TRUE(barrier.begin(started.recorder));
        for (int step = 0; step < 20; ++step) {
          // Far apart, so that no processor that others take changes who is last.
          const std::uint64_t own = now_ns() + (ranks->rank() == slowest ? 100'000 * kMs : 10 * kMs);
          const StepBarrier::End end = barrier.meet(own, started.recorder);
          ASSERT_FALSE(end.over);
          EXPECT_GE(end.end_ns, own);
          EXPECT_GT(end.end_ns, now_ns() + 80'000 * kMs);
          if (ranks->rank() == slowest) {
            EXPECT_LT(end.end_ns, own + 10'000 * kMs);
          }
        }
        barrier.leave();
        EXPECT_EQ(barrier.lost(), "");
        ranks->barrier("the end of a phase", 60);
      }
    });
  }
}

TEST(StepBarrier, ANodeWithoutDataEndsItForAll) {
  on_ranks(nodes(10), 10, [](std::unique_ptr<Ranks> ranks) {
    StepBarrier barrier(*ranks, ranks->everyone());
    const Started started;
    ASSERT_TRUE(barrier.begin(started.recorder));
    int steps = 0;
    for (; steps < 50; ++steps) {
      if (ranks->rank() == 9 && steps == 5) break;
      if (barrier.meet(now_ns(), started.recorder).over) break;
    }
    barrier.leave();
    EXPECT_EQ(steps, 5);
    EXPECT_EQ(barrier.lost(), "");
    ranks->barrier("the end of a phase", 60);
    // What was said too late is no word of the next phase.
    ASSERT_TRUE(barrier.begin(started.recorder));
    EXPECT_FALSE(barrier.meet(now_ns(), started.recorder).over);
    ranks->barrier("the end", 60);
  });
}

TEST(StepBarrier, WaitsUntilItIsStopped) {
  on_ranks(nodes(2), 10, [](std::unique_ptr<Ranks> ranks) {
    StepBarrier barrier(*ranks, ranks->everyone());
    Started started;
    ASSERT_TRUE(barrier.begin(started.recorder));
    started.stop = ranks->rank() == 0;
    if (ranks->rank() == 0) {
      EXPECT_TRUE(barrier.meet(now_ns(), started.recorder).over);
    }
    EXPECT_EQ(barrier.lost(), "");
    ranks->barrier("the end", 60);
  });
}

TEST(StepBarrier, NamesSilentNodes) {
  std::mutex mutex;
  std::string lost;
  on_ranks(nodes(2), 10, [&](std::unique_ptr<Ranks> ranks) {
    auto barrier = std::make_unique<StepBarrier>(*ranks, ranks->everyone());
    const Started started;
    ASSERT_TRUE(barrier->begin(started.recorder));
    if (ranks->rank() == 1) {
      barrier.reset();
    } else {
      EXPECT_TRUE(barrier->meet(now_ns(), started.recorder).over);
      const std::lock_guard lock(mutex);
      lost = barrier->lost();
    }
    ranks->barrier("the end", 60);
  });
  EXPECT_EQ(lost, "rank 1 (node1)");
}

}  // namespace
}  // namespace headrace::pipeline::step_barrier_test
