#include "harness/machine/limits.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace headrace::system::capabilities_test {
namespace {

TEST(Capabilities, RootWithoutIpcLockOrInAUserNamespaceHasALimit) {
  const testing::TemporaryFolder root;
  const auto may = [&](const char* set, const char* map) {
    std::filesystem::create_directories(root / "proc/self");
    std::ofstream(root / "proc/self/status") << "Name:\tx\nCapEff:\t" << set << "\n";
    std::ofstream(root / "proc/self/uid_map") << map << "\n";
    return may_lock_all_memory(root.path());
  };
  const char* const all = "         0          0 4294967295";
  EXPECT_TRUE(may("000001ffffffffff", all));
  EXPECT_FALSE(may("00000000a80425fb", all)) << "Docker's default set";
  EXPECT_FALSE(may("000001ffffffffff", "         0       1000          1"));
  EXPECT_FALSE(may("0000000000000000", all));
}

}  // namespace
}  // namespace headrace::system::capabilities_test
