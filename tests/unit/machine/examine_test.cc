#include "harness/machine/examine/examine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace headrace::system::examine_test {
namespace {

using Level = Finding::Level;

const Finding* find(const std::vector<Finding>& all, const std::string& subject) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.subject == subject; });
  return found == all.end() ? nullptr : &*found;
}

TEST(Examine, EveryFindingSaysSomething) {
  const std::string path = "/tmp/headrace-no-such-scratch";
  Node node(path);
  const auto all = examine(path, node);
  EXPECT_GE(all.size(), 15u);
  for (const Finding& finding : all) {
    EXPECT_FALSE(finding.section.empty());
    EXPECT_FALSE(finding.subject.empty()) << finding.section;
    EXPECT_FALSE(finding.text.empty()) << finding.subject;
  }
  EXPECT_FALSE(std::filesystem::exists(path)) << "examine must not write";
  const Finding* posix = find(all, "posix");
  ASSERT_TRUE(posix);
  EXPECT_EQ(posix->level, Level::good);
}

TEST(Examine, WarnsOfMemoryAsStorage) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
  Node node("/dev/shm");
  const auto all = examine("/dev/shm", node);
  const Finding* system = find(all, "file system");
  ASSERT_TRUE(system);
  EXPECT_EQ(system->level, Level::warning);
  EXPECT_NE(system->advice, "");
}

TEST(Examine, WarnsOfAFolderThatCannotBeWritten) {
  Node node("/proc/headrace");
  const auto all = examine("/proc/headrace", node);
  const Finding* folder = find(all, "folder");
  ASSERT_TRUE(folder);
  // Even root cannot make files in /proc, though access(2) says it may.
  EXPECT_TRUE(folder->level == Level::warning || node.is_root());
}

}  // namespace
}  // namespace headrace::system::examine_test
