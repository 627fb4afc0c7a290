#include "harness/system/installation.h"
#include "tests/unit/source_dir.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace headrace::system {
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
  EXPECT_EQ(fs::path(find_shipped("docs/run-files.md")).filename(), "run-files.md");
  EXPECT_TRUE(fs::exists(find_shipped("docs/run-files.md")));
  EXPECT_EQ(find_shipped("configs/no-such.yaml"), "configs/no-such.yaml");
  fs::current_path(before);
}

TEST(ReportPython, SaysWhatTheChosenOneLacks) {
  setenv("HEADRACE_PYTHON", "/no/such/python", 1);
  const ReportPython none = find_report_python();
  EXPECT_EQ(none.executable, "");
  EXPECT_EQ(none.reason, "/no/such/python cannot be started");
  setenv("HEADRACE_PYTHON", "false", 1);
  EXPECT_EQ(find_report_python().reason, "false cannot be started");
  unsetenv("HEADRACE_PYTHON");
}

}  // namespace
}  // namespace headrace::system
