#include "harness/marked_folder.h"

#include <gtest/gtest.h>

#include "harness/diagnostics.h"
#include "tests/unit/temporary_folder.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

std::string refusal(const std::string& path, const std::string& kind = "scratch") {
  try {
    MarkedFolder::make(path, kind);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(MarkedFolder, MakesParentsAndMarks) {
  const TemporaryFolder tmp;
  const MarkedFolder folder = MarkedFolder::make(tmp / "a/b/", "scratch");
  EXPECT_EQ(folder.path(), tmp / "a/b");
  EXPECT_EQ(MarkedFolder::kind_of(tmp / "a/b"), "scratch");
  EXPECT_FALSE(MarkedFolder::is_marked(tmp / "a"));
  EXPECT_NE(tmp.read("a/b/.headrace").find("\"version\""), std::string::npos);
}

TEST(MarkedFolder, TakesEmptyAndMarkedOnes) {
  const TemporaryFolder tmp;
  fs::create_directory(tmp / "empty");
  EXPECT_NO_THROW(MarkedFolder::make(tmp / "empty", "run"));
  tmp.write("empty/result", "x");
  EXPECT_NO_THROW(MarkedFolder::make(tmp / "empty", "run"));
}

TEST(MarkedFolder, TakesOneWhoseMarkWasCutShort) {
  const TemporaryFolder tmp;
  tmp.write("s/.headrace.new", "");
  EXPECT_NO_THROW(MarkedFolder::make(tmp / "s", "scratch"));
  EXPECT_FALSE(fs::exists(tmp / "s/.headrace.new"));
}

TEST(MarkedFolder, RefusesWhatItDidNotMake) {
  const TemporaryFolder tmp;
  for (const char* name : {"d", "c", "b", "a"}) tmp.write(std::string("full/") + name, "x");
  EXPECT_EQ(refusal(tmp / "full"),
            (tmp / "full") + ": holds what headrace did not make (a, b, c, ... 4 in all); " +
                "give a new or empty folder");
  EXPECT_EQ(refusal(tmp / "full/a"),
            (tmp / "full/a") + ": is not a folder; give a new or empty one");
  tmp.write("fake/.headrace", "not a mark");
  EXPECT_NE(refusal(tmp / "fake").find("(.headrace)"), std::string::npos);
  MarkedFolder::make(tmp / "run", "run");
  EXPECT_EQ(
      refusal(tmp / "run"),
      (tmp / "run") +
          ": is headrace's folder of another kind (run, not scratch); give a new or empty one");
}

TEST(MarkedFolder, FollowsNoSymbolicLink) {
  const TemporaryFolder tmp;
  MarkedFolder::make(tmp / "real", "scratch");
  fs::create_directory_symlink(tmp / "real", tmp / "link");
  EXPECT_EQ(refusal(tmp / "link"), (tmp / "link") + ": is a symbolic link; give the folder itself");
  EXPECT_FALSE(MarkedFolder::is_marked(tmp / "link"));
  fs::create_directory(tmp / "trick");
  fs::create_symlink(tmp / "real/.headrace", tmp / "trick/.headrace");
  EXPECT_FALSE(MarkedFolder::is_marked(tmp / "trick"));
  EXPECT_NE(refusal(tmp / "trick"), "");
}

TEST(RemoveMarked, TakesOwnFilesAndLeavesTheRest) {
  const TemporaryFolder tmp;
  const std::string_view own[] = {"run.json", "report.html"};
  MarkedFolder::make(tmp / "run", "run");
  tmp.write("run/run.json", "12345");
  tmp.write("run/notes.txt", "mine");
  tmp.write("outside", "mine");
  fs::create_symlink(tmp / "outside", tmp / "run/report.html");
  const CleanReport first = remove_marked(tmp / "run", own);
  EXPECT_EQ(first.files, 1u);
  EXPECT_EQ(first.bytes, 5u);
  EXPECT_EQ(first.left, (std::vector<std::string>{"notes.txt: not made by headrace",
                                                  "report.html: not made by headrace"}));
  EXPECT_FALSE(first.gone);
  EXPECT_TRUE(MarkedFolder::is_marked(tmp / "run"));
  fs::remove(tmp / "run/notes.txt");
  fs::remove(tmp / "run/report.html");
  EXPECT_TRUE(remove_marked(tmp / "run", own).gone);
  EXPECT_FALSE(fs::exists(tmp / "run"));
  EXPECT_TRUE(fs::exists(tmp / "outside"));
}

TEST(RemoveMarked, LeavesUnmarkedFoldersAlone) {
  const TemporaryFolder tmp;
  const std::string_view own[] = {"run.json"};
  tmp.write("folder/run.json", "mine");
  EXPECT_FALSE(remove_marked(tmp / "folder", own).left.empty());
  EXPECT_TRUE(fs::exists(tmp / "folder/run.json"));
  EXPECT_TRUE(remove_marked(tmp / "nothing", own).gone);
}

}  // namespace
}  // namespace headrace
