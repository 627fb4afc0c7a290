#include "harness/machine/cpu.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace headrace::system::cpu_test {
namespace {

namespace fs = std::filesystem;

TEST(CpuList, CountsRangesAndSingles) {
  EXPECT_EQ(count_cpu_list("0-3,8"), 5u);
  EXPECT_EQ(count_cpu_list("0"), 1u);
  EXPECT_EQ(count_cpu_list(""), 0u);
}

TEST(CpuFacts, OfTwoSocketsWithTwoThreadsACore) {
  const fs::path root = fs::temp_directory_path() / ("headrace_cpu_test_" + std::to_string(getpid()));
  const auto lay = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  lay("proc/cpuinfo",
      "processor\t: 0\nmodel name\t: Example 9000\nmicrocode\t: 0x1f\nflags\t\t: fpu hypervisor "
      "sse\n");
  const std::string cpus = "sys/devices/system/cpu/";
  lay(cpus + "online", "0-7\n");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string folder = cpus + "cpu" + std::to_string(cpu);
    lay(folder + "/topology/physical_package_id", std::to_string(cpu / 4) + "\n");
    lay(folder + "/topology/core_id", std::to_string(cpu / 2 % 2) + "\n");
    lay(folder + "/cpufreq/scaling_governor", cpu == 7 ? "powersave\n" : "performance\n");
  }
  lay(cpus + "cpu0/cpufreq/cpuinfo_max_freq", "3700000\n");
  lay(cpus + "cpu0/cache/index0/size", "32K\n");
  lay(cpus + "cpu0/cache/index1/size", "1024K\n");
  lay("sys/devices/system/node/online", "0-1\n");

  const CpuFacts facts = cpu_facts(root.string());
  fs::remove_all(root);
  EXPECT_EQ(facts.model, "Example 9000");
  EXPECT_EQ(facts.threads, 8u);
  EXPECT_EQ(facts.cores, 4u);
  EXPECT_EQ(facts.sockets, 2u);
  EXPECT_EQ(facts.numa_nodes, 2u);
  EXPECT_EQ(facts.governor, "mixed: performance, powersave");
  EXPECT_DOUBLE_EQ(facts.max_hz.value(), 3.7e9);
  EXPECT_EQ(facts.last_level_cache, "1024K");
  EXPECT_EQ(facts.microcode, "0x1f");
  EXPECT_TRUE(facts.is_virtual);
}

TEST(CpuFacts, OfThisMachine) { EXPECT_GE(cpu_facts().threads, 1u); }

}  // namespace
}  // namespace headrace::system::cpu_test
