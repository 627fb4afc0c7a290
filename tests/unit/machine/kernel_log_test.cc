#include "harness/machine/kernel_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace headrace::system::kernel_log_test {
namespace {

constexpr const char* kLog =
    "4,100,5000000,-;NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
    " SUBSYSTEM=pci\n"
    "6,101,6000000,-;eth0: link up\n"
    "4,102,7000000,-;NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
    "4,103,8000000,-;NVRM: Xid (PCI:0009:01:00): 149, NETIR Fatal XC0 i0 Link 08\n"
    "4,104,9500000,-;nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n"
    "4,105,9600000,-;NVRM: Xid (PCI:0000:17:00) is no such line\n";

TEST(KernelLog, XidsOfGpusAndSwitches) {
  const auto all = logged_errors(kLog);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].address, "0000:17:00.0");
  EXPECT_EQ(all[0].name(), "Xid 79");
  EXPECT_EQ(all[0].times, 2u);
  EXPECT_DOUBLE_EQ(all[0].last_s, 7);
  EXPECT_EQ(all[1].address, "0009:01:00.0");
  EXPECT_EQ(all[1].number, 149u);
  EXPECT_EQ(all[2].name(), "SXid 20034");
  EXPECT_TRUE(all[2].fatal && !all[0].fatal);
  EXPECT_TRUE(logged_errors("").empty());
}

TEST(KernelLog, IsReadWhereItCanBe) {
  const testing::TemporaryFolder root;
  EXPECT_FALSE(logged_errors_here(root.path())) << "nothing can be said";
  std::filesystem::create_directories(root / "dev");
  std::ofstream(root / "dev/kmsg") << kLog;
  ASSERT_TRUE(logged_errors_here(root.path()));
  EXPECT_EQ(logged_errors_here(root.path())->size(), 3u);
}

}  // namespace
}  // namespace headrace::system::kernel_log_test
