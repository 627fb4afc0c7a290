#include "harness/base/system/installation.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/base/system/report_python.h"
#include "tests/unit/source_dir.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::system::installation_test {
namespace {

namespace fs = std::filesystem;

TEST(Installation, FindsTheSourceTreeFromABuildFolder) {
  const Installation& here = installation();
  EXPECT_FALSE(here.installed);
  EXPECT_TRUE(fs::equivalent(here.configs, source_dir() + "/configs"));
  EXPECT_TRUE(fs::equivalent(here.docs, source_dir() + "/docs"));
}

TEST(FindShipped, PrefersTheFileThatIsThere) {
  const std::string here = fs::temp_directory_path() / "headrace_installation_test.yaml";
  std::ofstream(here) << "schema: 1\n";
  EXPECT_EQ(find_shipped(here), here);
  fs::remove(here);
}

TEST(FindShipped, TakesTheShippedFileFromAnyFolder) {
  const fs::path before = fs::current_path();
  fs::current_path("/");
  EXPECT_EQ(fs::path(find_shipped("docs/reference/run-files.md")).filename(), "run-files.md");
  EXPECT_TRUE(fs::exists(find_shipped("docs/reference/run-files.md")));
  EXPECT_EQ(find_shipped("configs/no-such.yaml"), "configs/no-such.yaml");
  fs::current_path(before);
}

TEST(Installation, BelongsToThisBuild) {
  EXPECT_EQ(installation().why, "");
  EXPECT_TRUE(fs::exists(fs::path(installation().plugins).parent_path() / "headrace.tree"));
}

TEST(ForeignWriter, AnyOtherWriterIsUntrusted) {
  const testing::TemporaryFolder folder;
  const std::string file = folder / "module.py";
  std::ofstream(file) << "pass\n";
  EXPECT_EQ(foreign_writer_within(folder.path()), "");
  ::chmod(file.c_str(), 0646);
  EXPECT_EQ(foreign_writer_within(folder.path()), file + " can be written by everybody");
  EXPECT_EQ(foreign_writer(folder.path()), "");
  EXPECT_NE(foreign_writer(folder / "nothing").find("No such file"), std::string::npos);
  ::chmod(file.c_str(), 0644);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown(file.c_str(), 4711, 4712), 0);
  EXPECT_EQ(foreign_writer(file), file + " belongs to user 4711");
  ASSERT_EQ(::chown(file.c_str(), 0, 4712), 0);
  EXPECT_EQ(foreign_writer(file), "");
  ::chmod(file.c_str(), 0664);
  EXPECT_EQ(foreign_writer(file), file + " can be written by group 4712");
}

TEST(ReportPython, NamesMissingPartsOfTheChosenOne) {
  setenv("HEADRACE_PYTHON", "/no/such/python", 1);
  const ReportPython none = find_report_python();
  EXPECT_EQ(none.executable, "");
  EXPECT_EQ(none.reason, "/no/such/python cannot be started");
  setenv("HEADRACE_PYTHON", "python3", 1);
  EXPECT_EQ(find_report_python().reason, "python3 is not the whole path of a Python");
  setenv("HEADRACE_PYTHON", "/bin/false", 1);
  EXPECT_EQ(find_report_python().reason, "/bin/false cannot be started");
  unsetenv("HEADRACE_PYTHON");
}

}  // namespace
}  // namespace headrace::system::installation_test
