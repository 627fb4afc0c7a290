#include "harness/machine/node.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <thread>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/workload/data/data_set.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::node_test {
namespace {

TEST(Node, ScratchIsMadeOnFirstUse) {
  const testing::TemporaryFolder tmp;
  Node node(tmp / "scratch");
  EXPECT_FALSE(std::filesystem::exists(tmp / "scratch"));
  EXPECT_EQ(node.scratch(), tmp / "scratch");
  EXPECT_EQ(MarkedFolder::kind_of(tmp / "scratch"), "scratch");
}

TEST(Node, RefusesAForeignScratchFolder) {
  const testing::TemporaryFolder tmp;
  tmp.write("scratch/thesis.tex", "x");
  Node node(tmp / "scratch");
  EXPECT_THROW(node.scratch(), UsageError);
}

TEST(Node, CoresFollowTheAffinityMask) {
  const Node node("unused");
  const unsigned all = node.cores();
  EXPECT_GE(all, 1u);
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(node.cores(), 1u);
  ::sched_setaffinity(0, sizeof before, &before);
  // A pinned thread does not make the process smaller.
  std::thread([&] {
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(node.cores(), all);
  }).join();
}

TEST(Node, WritesAreCountedOncePerDataSet) {
  Node node("scratch");
  node.reserve_writes("any", 1'000'000'000'000);
  Node limited("scratch");
  limited.limit_writes(100);
  limited.reserve_writes("a", 60);
  limited.reserve_writes("a", 60);
  EXPECT_THROW(limited.reserve_writes("b", 41), RunError);
  EXPECT_NO_THROW(limited.reserve_writes("b", 40));
}

TEST(Node, MemoryAndSpaceAreThere) {
  const testing::TemporaryFolder tmp;
  const Node node("unused");
  EXPECT_GT(node.memory_available(), 1u << 20);
  EXPECT_EQ(node.free_bytes("/proc/self/nothing"), 0u);
  EXPECT_GT(node.free_bytes(tmp / "not/yet/there"), 0u);
}

}  // namespace
}  // namespace headrace::node_test
