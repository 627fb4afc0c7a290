#include "harness/workload/data/name_tree.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::name_tree_test {
namespace {

namespace fs = std::filesystem;

struct NameTreeTest : ::testing::Test {
  static constexpr NameTreeShape kShape{.depth = 2, .width = 3, .files_per_folder = 4};
  static void make(const NameTree& tree, std::uint32_t file) {
    bool made = false;
    ASSERT_TRUE(tree.create(tree.files().path(file), made));
    ASSERT_TRUE(made);
  }
  testing::TemporaryFolder tmp;
  const MarkedFolder marked = MarkedFolder::make(tmp / "scratch", "scratch");
  const files::Folder& scratch = marked.folder();
  const std::string where = scratch.path() + "/metadata";
};

TEST_F(NameTreeTest, MakesItsFoldersAndNamesItsFiles) {
  EXPECT_EQ(kShape.leaves(), 9u);
  EXPECT_EQ(kShape.folders(), 12u);
  EXPECT_EQ(kShape.files(), 36u);
  {
    const NameTree tree(kShape, scratch);
    EXPECT_EQ(tree.folders().count(), 12u);
    EXPECT_EQ(tree.files().count(), 36u);
    EXPECT_STREQ(tree.files().path(35), "d002/d002/f00000035");
    for (std::uint32_t i = 0; i < 12; ++i)
      EXPECT_TRUE(fs::is_directory(tree.folders().full_path(i))) << tree.folders().path(i);
    for (std::uint32_t i = 0; i < 36; ++i) make(tree, i);
  }
  EXPECT_FALSE(fs::exists(where));
}

TEST_F(NameTreeTest, IsHeldByOneProcess) {
  const NameTree tree(kShape, scratch);
  EXPECT_THROW(NameTree(kShape, scratch), RunError);
  const auto left = remove_left_over_names(scratch).left;
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(left[0].starts_with(where + ": in use by another headrace (pid ")) << left[0];
}

TEST_F(NameTreeTest, CleansUpAfterACrashAndLeavesForeignFiles) {
  {
    const NameTree tree(kShape, scratch);
    make(tree, 0);
    make(tree, 17);
    // As a killed run leaves it: the lock is gone, the files are not.
    fs::copy(where, tmp / "left", fs::copy_options::recursive);
  }
  fs::rename(tmp / "left", where);
  std::ofstream(where + "/d001/notes.txt") << "mine";
  std::ofstream(where + "/d002/d001/f00000040") << "mine too: not empty";
  fs::create_symlink(where + "/d001", where + "/d002/d005");
  std::ofstream(where + "/d002/d001/f00000041");  // empty, as those that are made here
  const CleanReport report = remove_left_over_names(scratch);
  EXPECT_EQ(report.files, 2u);
  EXPECT_FALSE(report.gone);
  EXPECT_EQ(report.left,
            (std::vector<std::string>{
                where + "/d001/notes.txt: not made by headrace", where + "/d002/d001/f00000040: not made by headrace",
                where + "/d002/d001/f00000041: not made by headrace", where + "/d002/d005: not made by headrace"}));
  EXPECT_FALSE(fs::exists(where + "/d000"));
  EXPECT_TRUE(fs::exists(where + "/d001/notes.txt"));
  EXPECT_THROW(NameTree(kShape, scratch), RunError);
  fs::remove(where + "/d001/notes.txt");
  fs::remove(where + "/d002/d001/f00000040");
  fs::remove(where + "/d002/d001/f00000041");
  fs::remove(where + "/d002/d005");
  { const NameTree tree(kShape, scratch); }
  EXPECT_FALSE(fs::exists(where));
  EXPECT_TRUE(remove_left_over_names(scratch).gone);
}

TEST_F(NameTreeTest, AFolderThatIsNotHeadracesStaysUntouched) {
  fs::create_directories(where);
  std::ofstream(where + "/f00000001");
  EXPECT_TRUE(remove_left_over_names(scratch).left.empty());
  EXPECT_ANY_THROW(NameTree(kShape, scratch));
  EXPECT_TRUE(fs::exists(where + "/f00000001"));
}

TEST(NameTreeShapeTest, CountsSaturate) {
  const NameTreeShape huge{.depth = 16, .width = 1000, .files_per_folder = 1};
  EXPECT_GT(huge.folders(), NameTreeShape::kMostFolders);
  EXPECT_GT(huge.leaves(), NameTreeShape::kMostFolders);
}

}  // namespace
}  // namespace headrace::name_tree_test
