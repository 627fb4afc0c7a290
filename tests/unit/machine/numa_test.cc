#include "harness/machine/numa.h"

#include <gtest/gtest.h>
#include <algorithm>

#include <thread>
#include <vector>

#include "tests/unit/temporary_folder.h"

namespace headrace::numa_test {
namespace {

/// Two sockets of two nodes each; node 4 is a GPU's memory and has no processors.
std::vector<NumaNode> four_nodes() {
  testing::TemporaryFolder root;
  const std::string nodes = "sys/devices/system/node/";
  root.write(nodes + "online", "0-4\n");
  const char* cpus[] = {"0-1,8-9", "2-3", "4-5", "6-7", ""};
  const char* distances[] = {"10 12 32 31 40", "12 10 31 32 40", "32 31 10 12 40", "31 32 12 10 40", "40 40 40 40 10"};
  for (int i = 0; i < 5; ++i) {
    root.write(nodes + "node" + std::to_string(i) + "/cpulist", std::string(cpus[i]) + "\n");
    root.write(nodes + "node" + std::to_string(i) + "/distance", std::string(distances[i]) + "\n");
  }
  return numa_nodes(root.path());
}

TEST(Numa, NodesWithProcessors) {
  const auto nodes = four_nodes();
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[0].cpus, (std::vector<int>{0, 1, 8, 9}));
  EXPECT_EQ(nodes[3].id, 3);
  EXPECT_EQ(nodes[2].distances, (std::vector<unsigned>{32, 31, 10, 12, 40}));
}

TEST(Numa, LocalRemoteAny) {
  const auto nodes = four_nodes();
  std::string why;
  EXPECT_EQ(choose_numa_node(NumaChoice::local, 2, nodes, why)->id, 2);
  EXPECT_EQ(choose_numa_node(NumaChoice::remote, 2, nodes, why)->id, 0);  // 32 is farther than 31
  EXPECT_EQ(choose_numa_node(NumaChoice::remote, 1, nodes, why)->id, 3);
  EXPECT_EQ(choose_numa_node(NumaChoice::any, 2, nodes, why), nullptr);
  EXPECT_EQ(why, "");
}

TEST(Numa, SaysWhyThereIsNoChoice) {
  const auto nodes = four_nodes();
  std::string why;
  EXPECT_EQ(choose_numa_node(NumaChoice::local, -1, nodes, why), nullptr);
  EXPECT_EQ(why, "the kernel does not report the device's NUMA node");
  EXPECT_EQ(choose_numa_node(NumaChoice::remote, 4, nodes, why), nullptr);
  EXPECT_EQ(why, "the device's NUMA node 4 has no processors");
  const std::vector<NumaNode> one{{.id = 0, .cpus = {0}, .distances = {10}}};
  EXPECT_EQ(choose_numa_node(NumaChoice::remote, 0, one, why), nullptr);
  EXPECT_EQ(why, "this machine has one NUMA node");
  why.clear();
  EXPECT_EQ(choose_numa_node(NumaChoice::local, -1, one, why), nullptr);  // nowhere else to be
  EXPECT_EQ(why, "");
}

TEST(Numa, ThreadAndMemoryGoToANodeAndBack) {
  const auto nodes = numa_nodes();
  if (nodes.empty()) GTEST_SKIP() << "this kernel shows no NUMA nodes";
  cpu_set_t before, on, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  {
    const OnNumaNode there(&nodes.back());
    if (!there.refused().empty()) GTEST_SKIP() << there.refused();
    ASSERT_EQ(sched_getaffinity(0, sizeof on, &on), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &on)) {
        EXPECT_NE(std::count(nodes.back().cpus.begin(), nodes.back().cpus.end(), cpu), 0) << cpu;
      }
    }
    std::vector<char> memory(1 << 20, 1);
    EXPECT_EQ(numa_node_of(memory.data() + (1 << 19)), nodes.back().id);
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(Numa, AThreadBoundToOneProcessorIsLetGo) {
  cpu_set_t all, one, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  std::thread([&] {
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    run_anywhere();
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  }).join();
  EXPECT_TRUE(CPU_EQUAL(&all, &after));
}

TEST(Numa, NoNodeChangesNothing) {
  const OnNumaNode nowhere(nullptr);
  EXPECT_EQ(nowhere.refused(), "");
}

}  // namespace
}  // namespace headrace::numa_test
