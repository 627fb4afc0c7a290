#include "harness/base/files/marked_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::marked_folder_test {
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

TEST(MarkedFolder, TakesAFolderWithACutMark) {
  const TemporaryFolder tmp;
  const files::Folder folder = files::Folder::at(tmp.path()).make("s");
  const std::string aside = ".headrace.0123456789abcdef.new";
  folder.create(aside.c_str());
  EXPECT_TRUE(folder.is_aside(aside));
  EXPECT_NO_THROW(MarkedFolder::make(tmp / "s", "scratch"));
  EXPECT_TRUE(remove_marked(tmp / "s").gone);
  EXPECT_FALSE(fs::exists(tmp / "s"));
  files::Folder::at(tmp.path()).make("never-marked");
  EXPECT_TRUE(remove_marked(tmp / "never-marked").gone);
  EXPECT_FALSE(fs::exists(tmp / "never-marked"));
}

/// The one place that decides whether a target may be taken, also after a kill at any moment.
TEST(MarkedFolder, IsFreeIfEmptyOrOfItsKind) {
  const TemporaryFolder tmp;
  const files::Folder here = files::Folder::at(tmp.path());
  here.make("aside").create(".headrace.0123456789abcdef.new");
  here.make("empty");
  MarkedFolder::make(tmp / "shards", "shards");
  for (const char* free : {"absent", "absent/too", "empty", "aside", "shards"})
    EXPECT_TRUE(MarkedFolder::is_free_for(tmp / free, "shards")) << free;
  MarkedFolder::make(tmp / "run", "run");
  tmp.write("thesis/thesis.tex", "mine");
  tmp.write("imitated/.headrace.0123456789abcdef.new", "mine");
  for (const char* taken : {"run", "thesis", "imitated"})
    EXPECT_FALSE(MarkedFolder::is_free_for(tmp / taken, "shards")) << taken;
  EXPECT_THROW(MarkedFolder::is_free_for(tmp / "thesis/thesis.tex", "shards"), UsageError);
}

TEST(MarkedFolder, TheNextExclusiveOwnerRemovesFilesOfKilledWriters) {
  const TemporaryFolder tmp;
  { MarkedFolder::make_alone(tmp / "s", "shards"); }
  files::Folder::at(tmp / "s").create(".headrace.0123456789abcdef.new");
  tmp.write("s/.headrace.fedcba9876543210.new", "mine");
  MarkedFolder::make_alone(tmp / "s", "shards");
  EXPECT_FALSE(fs::exists(tmp / "s/.headrace.0123456789abcdef.new"));
  EXPECT_EQ(tmp.read("s/.headrace.fedcba9876543210.new"), "mine");
}

/// Each write lists the new digest first; one that is killed then leaves the old file, however often.
TEST(MarkedFolder, KilledBetweenItsListAndAFileItGoesOn) {
  const TemporaryFolder tmp;
  const MarkedFolder folder = MarkedFolder::make_alone(tmp / "s", "shards");
  folder.write("list", "first");
  for (const char* text : {"second", "third", "fourth"}) {
    folder.write("list", text);
    tmp.write("s/list", "first");  // as if its rename had not been
  }
  EXPECT_NO_THROW(folder.write("list", "fifth"));
  EXPECT_EQ(tmp.read("s/list"), "fifth");
  tmp.write("s/list", "mine");
  EXPECT_THROW(folder.write("list", "sixth"), RunError);
}

TEST(MarkedFolder, IsMadeByManyAtOnce) {
  const TemporaryFolder tmp;
  std::atomic<int> failed = 0;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    std::vector<std::thread> starts;
    for (int i = 0; i < 8; ++i)
      starts.emplace_back([&] {
        try {
          const MarkedFolder folder = MarkedFolder::make(tmp / name, "scratch");
          MarkedFolder::make(folder.folder(), "data", "data");
        } catch (const std::exception& e) {
          ADD_FAILURE() << e.what();
          ++failed;
        }
      });
    for (std::thread& start : starts) start.join();
  }
  EXPECT_EQ(failed, 0);
}

TEST(MarkedFolder, ReportsItsOwner) {
  const TemporaryFolder tmp;
  const MarkedFolder held = MarkedFolder::make_alone(tmp / "run", "run");
  try {
    MarkedFolder::make_alone(tmp / "run", "run");
    ADD_FAILURE() << "taken twice";
  } catch (const RunError& e) {
    EXPECT_NE(
        std::string(e.what()).find("run is in use by another headrace (pid " + std::to_string(::getpid()) + " on "),
        std::string::npos)
        << e.what();
  }
  EXPECT_EQ(MarkedFolder::make_next(tmp / "run", "run").path(), tmp / "run-2");
}

TEST(MarkedFolder, WritesOverItsOwnFilesOnly) {
  const TemporaryFolder tmp;
  const MarkedFolder folder = MarkedFolder::make(tmp / "run", "run");
  folder.write("a.json", "1");
  folder.write("a.json", "2");
  EXPECT_EQ(tmp.read("run/a.json"), "2");
  tmp.write("run/a.json", "3");  // the same length, the same inode
  EXPECT_THROW(folder.write("a.json", "4"), RunError);
  EXPECT_EQ(tmp.read("run/a.json"), "3");
  tmp.write("outside", "mine");
  fs::create_symlink(tmp / "outside", tmp / "run/b.json");
  EXPECT_THROW(folder.write("b.json", "4"), RunError);
  fs::create_hard_link(tmp / "outside", tmp / "run/c.json");
  EXPECT_THROW(folder.write("c.json", "4"), RunError);
  EXPECT_EQ(tmp.read("outside"), "mine");
  const CleanReport report = remove_marked(tmp / "run");
  EXPECT_EQ(report.left, (std::vector<std::string>{"a.json: changed since headrace wrote it",
                                                   "b.json: not made by headrace", "c.json: not made by headrace"}));
}

TEST(Folder, ManyMayShareAndOneMayHaveItAlone) {
  const TemporaryFolder tmp;
  const files::Folder one = files::Folder::at(tmp.path()), other = files::Folder::at(tmp.path());
  EXPECT_TRUE(one.lock_shared());
  EXPECT_TRUE(other.lock_shared());
  EXPECT_FALSE(other.lock_alone());
}

TEST(Folder, PutNewShowsWhetherItWasThere) {
  const TemporaryFolder tmp;
  const files::Folder folder = files::Folder::at(tmp.path());
  EXPECT_TRUE(folder.put_new("note", "first"));
  EXPECT_FALSE(folder.put_new("note", "second"));
  EXPECT_EQ(folder.read("note"), "first");
}

TEST(MarkedFolder, KnowsWhenItsPathLeadsElsewhere) {
  const TemporaryFolder tmp;
  const MarkedFolder folder = MarkedFolder::make(tmp / "run", "run");
  fs::create_directory(tmp / "other");
  fs::rename(tmp / "run", tmp / "moved");
  fs::create_directory_symlink(tmp / "other", tmp / "run");
  try {
    folder.write("a.json", "1");
    ADD_FAILURE() << "written";
  } catch (const RunError& e) {
    EXPECT_EQ(std::string(e.what()), (tmp / "run") +
                                         ": is a symbolic link now: it was taken away "
                                         "while headrace used it");
  }
  EXPECT_TRUE(fs::is_empty(tmp / "other"));
}

TEST(MarkedFolder, LeavesTheFolderThatTheUserMade) {
  const TemporaryFolder tmp;
  fs::create_directory(tmp / "mine");
  MarkedFolder::make(tmp / "mine", "run").write("a.json", "1");
  EXPECT_TRUE(remove_marked(tmp / "mine").gone);
  EXPECT_TRUE(fs::is_directory(tmp / "mine"));
  EXPECT_TRUE(fs::is_empty(tmp / "mine"));
}

TEST(MarkedFolder, RefusesForeignFiles) {
  const TemporaryFolder tmp;
  for (const char* name : {"d", "c", "b", "a"}) tmp.write(std::string("full/") + name, "x");
  EXPECT_EQ(refusal(tmp / "full"), (tmp / "full") + ": holds what headrace did not make (a, b, c, ... 4 in all); " +
                                       "give a new or empty folder");
  EXPECT_EQ(refusal(tmp / "full/a"), (tmp / "full/a") + ": is not a folder; give a new or empty one");
  tmp.write("fake/.headrace", "not a mark");
  EXPECT_NE(refusal(tmp / "fake").find("(.headrace)"), std::string::npos);
  MarkedFolder::make(tmp / "run", "run");
  EXPECT_EQ(refusal(tmp / "run"),
            (tmp / "run") + ": is headrace's folder of another kind (run, not scratch); give a new or empty one");
}

TEST(Folder, RemovesNeitherAFileThatIsGoneNorAFullFolder) {
  const TemporaryFolder tmp;
  const files::Folder folder = files::Folder::at(tmp.path()).make("full");
  tmp.write("full/a", "1");
  const auto status = folder.look("a");
  EXPECT_FALSE(folder.remove_itself());
  EXPECT_TRUE(folder.remove("a", *status));
  EXPECT_FALSE(folder.remove("a", *status));
  EXPECT_TRUE(folder.remove_itself());
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
  MarkedFolder::make(tmp / "run", "run").write("run.json", "12345");
  tmp.write("run/notes.txt", "mine");
  tmp.write("outside", "mine");
  fs::create_symlink(tmp / "outside", tmp / "run/report.html");
  const CleanReport first = remove_marked(tmp / "run");
  EXPECT_EQ(first.files, 1u);
  EXPECT_EQ(first.bytes, 5u);
  EXPECT_EQ(first.left,
            (std::vector<std::string>{"notes.txt: not made by headrace", "report.html: not made by headrace"}));
  EXPECT_FALSE(first.gone);
  EXPECT_TRUE(MarkedFolder::is_marked(tmp / "run"));
  fs::remove(tmp / "run/notes.txt");
  fs::remove(tmp / "run/report.html");
  EXPECT_TRUE(remove_marked(tmp / "run").gone);
  EXPECT_FALSE(fs::exists(tmp / "run"));
  EXPECT_TRUE(fs::exists(tmp / "outside"));
}

TEST(RemoveMarked, AFolderOfItsOwnThatHoldsAForeignFileIsNotForeign) {
  const TemporaryFolder tmp;
  {
    const MarkedFolder outer = MarkedFolder::make(tmp / "run", "scratch");
    MarkedFolder::make(outer.folder(), "data", "data");
    fs::create_directory(tmp / "run/hers");
  }
  tmp.write("run/data/mine.txt", "mine");
  tmp.write("run/hers/mine.txt", "mine");
  EXPECT_EQ(remove_marked(tmp / "run").left,
            (std::vector<std::string>{"data: not empty", "hers: not made by headrace"}));
}

const char* const kKeptOpen[] = {".nfs0123456789abcdef01234567", ".fuse_hidden0000000a0000000b"};

TEST(RemoveMarked, WaitsForRemovedFilesThatAreClosedLate) {
  for (const char* name : kKeptOpen) {
    const TemporaryFolder tmp;
    MarkedFolder::make(tmp / "run", "run").write("run.json", "1");
    tmp.write(std::string("run/") + name, "removed");
    std::jthread closing([&] {
      while (fs::exists(tmp / "run/run.json")) std::this_thread::yield();
      fs::remove(tmp.path() + "/run/" + name);
    });
    const CleanReport report = remove_marked(tmp / "run");
    EXPECT_TRUE(report.gone) << name;
    EXPECT_EQ(report.left, std::vector<std::string>{});
  }
}

TEST(RemoveMarked, LeavesRemovedFilesThatStayOpen) {
  const TemporaryFolder tmp;
  MarkedFolder::make(tmp / "run", "run");
  tmp.write(std::string("run/") + kKeptOpen[0], "removed");
  const CleanReport report = remove_marked(tmp / "run");
  EXPECT_FALSE(report.gone);
  EXPECT_EQ(report.left, std::vector{std::string(kKeptOpen[0]) + ": was removed, and a program has it open"});
  EXPECT_TRUE(MarkedFolder::is_marked(tmp / "run")) << "the next removal can go on";
}

TEST(RemoveMarked, WaitsForNoFileOfTheUser) {
  for (const char* name : {".nfs", ".nfs-notes", ".nfs0123456789abcdef0123456x", ".fuse_hidden1"}) {
    const TemporaryFolder tmp;
    MarkedFolder::make(tmp / "run", "run");
    tmp.write(std::string("run/") + name, "mine");
    EXPECT_EQ(remove_marked(tmp / "run").left, std::vector{std::string(name) + ": not made by headrace"});
  }
}

/// Whichever is first: the folder is gone, or it is marked and has the new file.
TEST(RemoveMarked, KeepsTheMarkOfAFolderThatGetsAFile) {
  for (int i = 0; i < 50; ++i) {
    const TemporaryFolder tmp;
    MarkedFolder::make(tmp / "run", "run");
    std::jthread user([&] {
      while (fs::exists(tmp / "run/.headrace")) std::this_thread::yield();
      std::ofstream(tmp / "run/notes") << "mine";
    });
    const CleanReport report = remove_marked(tmp / "run");
    user.join();
    EXPECT_EQ(report.gone, !fs::exists(tmp / "run"));
    if (report.gone) continue;
    EXPECT_EQ(report.left, std::vector<std::string>{"notes: was made during the removal"});
    EXPECT_TRUE(MarkedFolder::is_marked(tmp / "run"));
    EXPECT_EQ(tmp.read("run/notes"), "mine");
  }
}

TEST(RemoveMarked, LeavesUnmarkedFoldersAlone) {
  const TemporaryFolder tmp;
  tmp.write("folder/run.json", "mine");
  EXPECT_FALSE(remove_marked(tmp / "folder").left.empty());
  EXPECT_TRUE(fs::exists(tmp / "folder/run.json"));
  EXPECT_TRUE(remove_marked(tmp / "nothing").gone);
  fs::create_directory(tmp / "empty");
  EXPECT_FALSE(remove_marked(tmp / "empty").gone);
  EXPECT_TRUE(fs::exists(tmp / "empty"));
}

/// What make() says of a folder that `change` was done to after it was marked.
std::string refusal_after(const std::function<void(const std::string& folder)>& change, mode_t parent = 0700) {
  const TemporaryFolder tmp;
  MarkedFolder::make(tmp / "s", "scratch");
  ::chmod(tmp.path().c_str(), parent);
  change(tmp / "s");
  EXPECT_EQ(MarkedFolder::kind_of(tmp / "s"), "scratch") << "for what is only read, whoever wrote it";
  const std::string why = refusal(tmp / "s");
  if (why.empty()) {
    EXPECT_TRUE(MarkedFolder::find(tmp / "s"));
  } else {
    EXPECT_THROW(MarkedFolder::find(tmp / "s"), UsageError);
    EXPECT_FALSE(MarkedFolder::find(files::Folder::at(tmp.path()), "s"));
  }
  return why;
}

constexpr uid_t kStranger = 4711;

TEST(MarkedFolder, BelievesNoMarkThatOthersCanHaveWritten) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ::unsetenv("SUDO_UID");
  const auto own = [](const std::string& path, uid_t user, gid_t group = 0) {
    ASSERT_EQ(::chown(path.c_str(), user, group), 0);
  };
  const auto mode = [](const std::string& path, mode_t bits) { ASSERT_EQ(::chmod(path.c_str(), bits), 0); };
  const struct {
    const char* what;
    std::function<void(const std::string&)> change;
    const char* why;  // "" = it is believed
    mode_t parent = 0700;
  } kCases[] = {
      {"nothing", [](const std::string&) {}, ""},
      {"where everybody makes folders", [](const std::string&) {}, "", 01777},
      {"another's folder", [&](const std::string& f) { own(f, kStranger); }, " belongs to user 4711", 01777},
      {"another's folder, where root put it", [&](const std::string& f) { own(f, kStranger); }, ""},
      {"another's folder and mark, where root put it",
       [&](const std::string& f) {
         own(f, kStranger);
         own(f + "/.headrace", kStranger);
       },
       "/.headrace belongs to user 4711"},
      {"another's mark", [&](const std::string& f) { own(f + "/.headrace", kStranger); },
       "/.headrace belongs to user 4711"},
      {"a folder for everybody", [&](const std::string& f) { mode(f, 0777); }, " can be written by everybody"},
      {"where nobody can replace the mark", [&](const std::string& f) { mode(f, 01777); }, ""},
      {"a mark for everybody", [&](const std::string& f) { mode(f + "/.headrace", 0666); },
       "/.headrace can be written by everybody"},
      {"root's folder for a group",
       [&](const std::string& f) {
         own(f, 0, 4712);
         mode(f, 0775);
       },
       " can be written by group 4712"},
      {"a mark for a group",
       [&](const std::string& f) {
         own(f + "/.headrace", 0, 4712);
         mode(f + "/.headrace", 0664);
       },
       "/.headrace can be written by group 4712"},
      {"root's group", [&](const std::string& f) { mode(f, 0775); }, ""},
  };
  for (const auto& one : kCases) {
    const std::string why = refusal_after(one.change, one.parent);
    if (*one.why == '\0')
      EXPECT_EQ(why, "") << one.what;
    else
      EXPECT_NE(why.find(std::string("/s") + one.why), std::string::npos) << one.what << ": " << why;
  }
}

TEST(MarkedFolder, BelievesFilesOfTheSudoUserAndAnOwnersGroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const auto give = [](const std::string& folder) {
    ASSERT_EQ(::chown(folder.c_str(), kStranger, 4712), 0);
    ASSERT_EQ(::chown((folder + "/.headrace").c_str(), kStranger, 4712), 0);
    ASSERT_EQ(::chmod(folder.c_str(), 0775), 0);
  };
  ::setenv("SUDO_UID", "4711", 1);
  EXPECT_EQ(refusal_after(give, 01777), "");
  for (const char* other : {"4710", "", "4711x", "-4711"}) {
    ::setenv("SUDO_UID", other, 1);
    EXPECT_NE(refusal_after(give, 01777), "") << other;
  }
  ::unsetenv("SUDO_UID");
}

TEST(MarkedFolder, TakesAForeignEmptyFolderOnlyFromASafeParent) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TemporaryFolder tmp;
  const auto give = [&](const std::string& name) {
    fs::create_directories(tmp / name);
    ASSERT_EQ(::chown((tmp / name).c_str(), kStranger, 0), 0);
  };
  give("home");
  give("home/scratch");
  EXPECT_EQ(own_place(tmp / "home/scratch"), tmp / "home/scratch");
  EXPECT_EQ(refusal(tmp / "home/scratch"), "");
  ::chmod(tmp.path().c_str(), 01777);
  for (const std::string name : {"of-another", "of-another/inner"}) {
    give(name);
    EXPECT_NE(refusal(tmp / name).find(name + " belongs to user 4711"), std::string::npos) << name;
    EXPECT_FALSE(fs::exists(tmp / (name + "/.headrace")));
  }
  // Data for it goes into a folder of one's own in it.
  const std::string own = own_place(tmp / "of-another");
  EXPECT_EQ(own, tmp / "of-another/headrace-0");
  EXPECT_NO_THROW(MarkedFolder::make(own, "scratch"));
  EXPECT_EQ(own_place(tmp / "of-another"), own);
  EXPECT_EQ(own_place(tmp / "nothing"), tmp / "nothing");
  EXPECT_EQ(own_place(own), own);
}

TEST(MarkedFolder, APrivateOneIsClosedToOthers) {
  const TemporaryFolder tmp;
  const std::string path = tmp / files::random_name("work");
  EXPECT_EQ(path.size(), (tmp / "work-").size() + 32);
  EXPECT_NE(files::random_name("work"), files::random_name("work"));
  const MarkedFolder folder = MarkedFolder::make_private(path, "agent");
  EXPECT_EQ(folder.folder().status().st_mode & 0777, 0700u);
  EXPECT_NO_THROW(MarkedFolder::make_private(path, "agent")) << "another host that shares the file system";
  EXPECT_THROW(MarkedFolder::make_private(tmp / "no/parent", "agent"), std::exception);
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chmod(tmp.path().c_str(), 0777), 0);
  EXPECT_THROW(MarkedFolder::make_private(tmp / "new", "agent"), UsageError) << "others could replace it";
  ASSERT_EQ(::chmod(tmp.path().c_str(), 01777), 0);
  EXPECT_NO_THROW(MarkedFolder::make_private(tmp / "new", "agent"));
}

TEST(MarkedFolder, NamesNoFileElsewhere) {
  const TemporaryFolder tmp;
  tmp.write("outside", "");
  MarkedFolder::make(tmp / "run", "run");
  // The digest of an empty file, below a name that leads out of the folder.
  tmp.write("run/.headrace", R"({"kind":"headrace.run","made":true,"files":{"../outside":["0-cbf29ce484222325"]}})");
  MarkedFolder::make(tmp / "run", "run").remove_files();
  EXPECT_TRUE(fs::exists(tmp / "outside"));
}

}  // namespace
}  // namespace headrace::marked_folder_test
