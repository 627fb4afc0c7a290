#include "harness/base/files/output.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::files::output_test {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

TEST(Output, IsReplacedWhole) {
  const TemporaryFolder tmp;
  write_output(tmp / "told", "first and long");
  write_output(tmp / "told", "second");
  EXPECT_EQ(tmp.read("told"), "second");
  for (const auto& entry : fs::directory_iterator(tmp.path())) EXPECT_EQ(entry.path().filename(), "told");
}

TEST(Output, ANameMayBeAsLongAsTheFileSystemAllows) {
  const TemporaryFolder tmp;
  for (const char* const text : {"first", "second"}) {
    write_output(tmp / std::string(255, 'n'), text);
    EXPECT_EQ(tmp.read(std::string(255, 'n')), text);
  }
  EXPECT_THROW(write_output(tmp / std::string(256, 'n'), "x"), RunError);
  EXPECT_EQ(std::distance(fs::directory_iterator(tmp.path()), fs::directory_iterator()), 1);
}

TEST(Output, ALinkLeadsToTheWrittenFile) {
  const TemporaryFolder tmp;
  tmp.write("real", "old");
  fs::create_symlink(tmp / "real", tmp / "link");
  write_output(tmp / "link", "new");
  EXPECT_EQ(tmp.read("real"), "new");
  EXPECT_TRUE(fs::is_symlink(tmp / "link"));
}

TEST(Output, ANonFileIsRefusedWithoutRemains) {
  const TemporaryFolder tmp;
  fs::create_directory(tmp / "folder");
  fs::create_symlink(tmp / "nowhere/at/all", tmp / "link");
  EXPECT_THROW(write_output(tmp / "folder", "x"), RunError);
  EXPECT_THROW(write_output(tmp / "link", "x"), RunError);
  EXPECT_THROW(write_output(tmp / "no/folder/file", "x"), RunError);
  EXPECT_EQ(std::distance(fs::directory_iterator(tmp.path()), fs::directory_iterator()), 2);
}

/// Standard output is written to, never replaced, whatever it leads to.
TEST(Output, APrivateFileIsReadableByItsOwnerUnderAnyUmask) {
  const TemporaryFolder tmp;
  const auto mode = [&] {
    struct stat status;
    EXPECT_EQ(::stat((tmp / "file").c_str(), &status), 0);
    return status.st_mode & 0777;
  };
  tmp.write("file", "of before");
  ::chmod((tmp / "file").c_str(), 0666);
  for (const mode_t mask : {0000, 0022, 0777}) {
    const mode_t before = ::umask(mask);
    write_output(tmp / "file", "private", Readers::owner);
    ::umask(before);
    EXPECT_EQ(mode(), 0600u) << mask;
    fs::remove(tmp / "file");
  }
  write_output(tmp / "file", "not so");
  EXPECT_EQ(mode() & 0077, 0044u);
}

/// What check_output() says; "" = the file may be replaced.
std::string obstacle(const std::string& path, const std::string& input, std::string_view sign) {
  try {
    check_output(path, input, sign);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(Output, ForeignFilesAndTheInputAreNotReplaced) {
  const TemporaryFolder tmp;
  tmp.write("input", "head,a\n1,2\n");
  tmp.write("earlier", "head,a\n3,4\n");
  tmp.write("other", "mine\n");
  tmp.write("empty", "");
  fs::create_hard_link(tmp / "input", tmp / "same");
  fs::create_symlink(tmp / "other", tmp / "link");
  EXPECT_EQ(obstacle(tmp / "earlier", tmp / "input", "head,"), "");
  EXPECT_EQ(obstacle(tmp / "empty", tmp / "input", "head,"), "");
  EXPECT_EQ(obstacle(tmp / "new", tmp / "input", "head,"), "");
  EXPECT_NE(obstacle(tmp / "same", tmp / "input", "head,").find("it is read"), std::string::npos);
  EXPECT_NE(obstacle(tmp / "other", tmp / "input", "head,").find("did not make"), std::string::npos);
  EXPECT_NE(obstacle(tmp / "link", tmp / "input", "head,").find("did not make"), std::string::npos);
  const MarkedFolder ours = MarkedFolder::make(tmp / "run", "run");
  ours.write("results.csv", "head,a\n");
  EXPECT_NE(obstacle(tmp / "run/results.csv", tmp / "input", "head,").find("headrace's own"), std::string::npos);
  EXPECT_NE(obstacle(tmp / "run/new.csv", tmp / "input", "head,").find("headrace's own"), std::string::npos);
  EXPECT_EQ(obstacle("", "", "head,"), "") << "no output is asked for";
  EXPECT_NE(obstacle("-", "", "head,").find("give a file"), std::string::npos);
  EXPECT_EQ(obstacle("/dev/stdout", "", "head,"), "");
}

TEST(Output, AGrowingOneHasItsHeaderOnceAndLosesNothing) {
  const TemporaryFolder tmp;
  {
    GrowingOutput table(tmp / "table", "head\n");
    EXPECT_EQ(tmp.read("table"), "head\n");
    table.add("1\n");
    EXPECT_EQ(tmp.read("table"), "head\n1\n");
  }
  GrowingOutput(tmp / "table", "head\n").add("2\n3\n");
  EXPECT_EQ(tmp.read("table"), "head\n1\n2\n3\n");
  EXPECT_THROW(GrowingOutput(tmp / "none/table", "head\n"), RunError);
  EXPECT_THROW(GrowingOutput(tmp.path(), "head\n"), RunError);
}

TEST(Output, StandardStreamsAreNeverReplaced) {
  const TemporaryFolder tmp;
  for (const char* stream : {"/dev/stdout", "/dev/fd/1"}) {
    ::testing::internal::CaptureStdout();  // a file
    write_output(stream, "told");
    struct stat status;
    ASSERT_EQ(::fstat(STDOUT_FILENO, &status), 0);
    EXPECT_EQ(status.st_nlink, 1u) << stream;
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "told") << stream;
  }
}

}  // namespace
}  // namespace headrace::files::output_test
