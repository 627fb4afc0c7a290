// Which GPUs are the job's, from what a driver reported about all of them.
#include "harness/observe/sampling/gpus.h"

#include <gtest/gtest.h>

#include "harness/observe/learning/shares.h"

namespace headrace::observe::observe_gpus_test {
namespace {

/// Eight slices of a job of processes 10 and 11; GPU 0 was busy 30 %, GPU 1 80 % of each.
struct LaidGpus {
  Recording recording;
  Observation seen;

  LaidGpus(std::vector<int> first, std::vector<int> second) {
    recording.processes = {{.pid = 10}, {.pid = 11, .parent = 0}};
    recording.gpus = {{.pci_address = "a", .name = "one"}, {.pci_address = "b", .name = "other"}};
    for (const int pid : first) recording.gpus[0].users.push_back({.pid = pid, .memory = 5});
    for (const int pid : second)
      recording.gpus[1].users.push_back({.pid = pid, .memory = 7, .busy = 1.2, .busy_looks = 2});
    for (int i = 0; i < 8; ++i) {
      Slice slice;
      slice.begin_s = i * 0.25;
      slice.end_s = slice.begin_s + 0.25;
      slice.gpus = {{.gpu = 0, .looks = 2, .busy = 0.6, .memory_busy = 0.2}, {.gpu = 1, .looks = 1, .busy = 0.8}};
      recording.slices.push_back(slice);
    }
    seen.roles.consumers = {0};
    find_gpus(recording, slices_within(recording, 0, 2), seen);
  }
};

TEST(FindGpus, ReportsThoseThatTheJobHasMemoryOf) {
  const LaidGpus laid({10}, {99});
  ASSERT_EQ(laid.seen.gpus.size(), 1u);
  const GpuSummary& gpu = laid.seen.gpus.front();
  EXPECT_EQ(gpu.pci_address, "a");
  EXPECT_NEAR(gpu.busy.value, 0.3, 1e-9);
  EXPECT_NEAR(*gpu.memory_busy, 0.1, 1e-9);
  EXPECT_EQ(gpu.memory, 5u);
  EXPECT_FALSE(gpu.own_busy);
  EXPECT_FALSE(gpu.shared);
  ASSERT_TRUE(lone_gpu_busy(laid.seen));
  EXPECT_NEAR(lone_gpu_busy(laid.seen)->value, 0.3, 1e-9);
  EXPECT_TRUE(laid.seen.notes.empty());
}

TEST(FindGpus, ReportsOfSeveralTheirMean) {
  const LaidGpus laid({10}, {11});
  ASSERT_EQ(laid.seen.gpus.size(), 2u);
  EXPECT_NEAR(*laid.seen.gpus[1].own_busy, 0.6, 1e-9);
  EXPECT_NEAR(gpus_busy(laid.seen)->value, 0.55, 1e-9);
  EXPECT_FALSE(lone_gpu_busy(laid.seen));
}

TEST(FindGpus, SaysThatOthersUseItToo) {
  const LaidGpus laid({10, 99}, {});
  ASSERT_EQ(laid.seen.gpus.size(), 1u);
  EXPECT_TRUE(laid.seen.gpus.front().shared);
  EXPECT_FALSE(lone_gpu_busy(laid.seen));
}

TEST(FindGpus, SaysThatNoneIsKnownToBeTheJobs) {
  const LaidGpus laid({98}, {99});
  EXPECT_TRUE(laid.seen.gpus.empty());
  EXPECT_FALSE(gpus_busy(laid.seen));
  ASSERT_EQ(laid.seen.notes.size(), 1u);
  EXPECT_NE(laid.seen.notes.front().find("no process of the job"), std::string::npos);
}

}  // namespace
}  // namespace headrace::observe::observe_gpus_test
