#include "harness/machine/cpu.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/temporary_folder.h"

namespace headrace::last_level_cache_test {
namespace {

TEST(LastLevelCache, CountsEachOnce) {
  const testing::TemporaryFolder root;
  const auto lay = [&](int cpu, const std::string& shared) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index";
    root.write(folder + "0/size", "48K\n");
    root.write(folder + "0/shared_cpu_list", std::to_string(cpu) + "\n");
    root.write(folder + "1/size", "32768K\n");
    root.write(folder + "1/shared_cpu_list", shared + "\n");
  };
  lay(0, "0-1");
  lay(1, "0-1");
  lay(2, "2");
  EXPECT_EQ(last_level_cache(std::array{0, 1, 2}, root.path()), 64u << 20);
  EXPECT_EQ(last_level_cache(std::array{0, 1}, root.path()), 32u << 20);
  EXPECT_EQ(last_level_cache(std::array{7}, root.path()), 0u);
}

}  // namespace
}  // namespace headrace::last_level_cache_test
