// Listings that fail, at their beginning or in the middle: an error that names the folder, and never a shorter list.
#include "harness/base/system/list_names.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/files/folder.h"
#include "harness/machine/limits.h"
#include "harness/pack/image_folder.h"
#include "harness/workload/data/data_set/walk.h"
#include "tests/unit/temporary_folder.h"

namespace {

int fails_with = 0;          // an errno; 0 = it does not fail
unsigned entries_until = 0;  // it fails
std::string fails_in;        // the last part of that folder's path

bool is_it(DIR* list) {
  char path[4096];
  const auto length = ::readlink(("/proc/self/fd/" + std::to_string(::dirfd(list))).c_str(), path, sizeof path);
  return std::string_view(path, static_cast<std::size_t>(std::max<ssize_t>(length, 0))).ends_with("/" + fails_in);
}

}  // namespace

/// In place of the C library's, for all that is tested.
extern "C" dirent* readdir(DIR* list) {
  static auto* const real = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  if (fails_with != 0 && is_it(list) && entries_until-- == 0) {
    errno = fails_with;
    return nullptr;
  }
  return real(list);
}

namespace headrace::list_names_test {
namespace {

using testing::TemporaryFolder;

class ListNamesTest : public ::testing::Test {
 protected:
  ListNamesTest() {
    for (const char* name : {"a/1.jpg", "a/2.jpg", "a/3.jpg", "b/1.jpg"}) folder_.write(name, "image");
  }
  ~ListNamesTest() override { fails_with = 0; }
  void fail(const std::string& name, unsigned after, int code) {
    fails_in = name;
    entries_until = after;
    fails_with = code;
  }
  template <class What>
  std::string thrown_by(const What& what) {
    try {
      what();
    } catch (const RunError& e) {
      return e.what();
    }
    return "nothing was thrown";
  }

  TemporaryFolder folder_;
};

TEST_F(ListNamesTest, AreSortedAndWhole) {
  std::vector<std::string> names;
  EXPECT_EQ(system::list_names(AT_FDCWD, (folder_ / "a").c_str(), names), 0);
  EXPECT_EQ(names, (std::vector<std::string>{"1.jpg", "2.jpg", "3.jpg"}));
  EXPECT_EQ(system::list_names(AT_FDCWD, (folder_ / "none").c_str(), names), ENOENT);
  EXPECT_EQ(system::list_names(AT_FDCWD, (folder_ / "a/1.jpg").c_str(), names), ENOTDIR);
}

TEST_F(ListNamesTest, AnErrorIsNotTheEndWherever) {
  for (const unsigned after : {0u, 3u})
    for (const int code : {EIO, ESTALE, EACCES, ENOMEM, ENOENT}) {
      const auto names_it = [&](const std::string& thrown) {
        return thrown == "list " + (folder_ / "a") + ": " + errno_text(code);
      };
      fail("a", after, code);
      EXPECT_PRED1(names_it, thrown_by([&] { files::Folder::at(folder_ / "a").entries(); }));
      fail("a", after, code);
      EXPECT_PRED1(names_it, thrown_by([&] { walk(folder_.path(), {}, {}); }));
      fail("a", after, code);
      const std::string packed = code == EACCES ? "" : thrown_by([&] { pack::list_images(folder_.path(), {}); });
      EXPECT_TRUE(code == EACCES || names_it(packed)) << packed;
    }
}

/// The file system's own, which only root may list, at the top of each ext4.
TEST_F(ListNamesTest, LostAndFoundIsNotTheUsersData) {
  folder_.write("lost+found/1.jpg", "image");
  fail("lost+found", 0, EACCES);
  const Walked walked = walk(folder_.path(), {}, {});
  EXPECT_EQ(walked.files.count(), 4u);
  EXPECT_EQ(walked.left_out, (std::vector<std::pair<std::string, std::uint64_t>>{{"lost+found", 1}}));
  fail("lost+found", 0, EIO);
  EXPECT_NE(thrown_by([&] { walk(folder_.path(), {}, {}); }).find("lost+found"), std::string::npos);
}

TEST_F(ListNamesTest, ADeepTreeNeedsFewDescriptors) {
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "d/";
  folder_.write(deep + "1.jpg", "image");
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{40, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  EXPECT_EQ(walk(folder_.path(), {}, {}).files.count(), 5u);
  const rlimit none{3, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_NE(thrown_by([&] { walk(folder_.path(), {}, {}); }).find("EMFILE"), std::string::npos);
  EXPECT_EQ(system::make_room_for_files(5) >= 5, before.rlim_max >= 8) << "what it has open is not none";
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace headrace::list_names_test
