#include "harness/workload/data/file_survey.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/base/error.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::file_survey_test {
namespace {

using testing::TemporaryFolder;
namespace fs = std::filesystem;

struct Survey : ::testing::Test {
  TemporaryFolder tmp;

  void write(const std::string& name, std::size_t bytes, std::size_t size) {
    std::ofstream(tmp / name, std::ios::binary) << std::string(bytes, 'x');
    fs::resize_file(tmp / name, size);
  }
  FileTable table(std::initializer_list<const char*> names) {
    FileTable files(::open(tmp.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), tmp.path());
    for (const char* name : names) files.add(name, fs::file_size(tmp / name));
    return files;
  }
};

TEST_F(Survey, CountsNamesOfOneFileOnce) {
  write("a", 8192, 8192);
  write("b", 8192, 8192);
  fs::create_hard_link(tmp / "a", tmp / "c");
  const FileSurvey s = survey(table({"a", "b", "c"}), true);
  EXPECT_EQ(s.bytes, 3 * 8192u);
  EXPECT_EQ(s.distinct_bytes, 2 * 8192u);
  EXPECT_EQ(s.shared_file, tmp / "c");
  EXPECT_EQ(s.hole_bytes, 0u);
}

TEST_F(Survey, FindsHoles) {
  write("whole", 1 << 20, 1 << 20);
  write("half", 1 << 19, 1 << 20);
  write("hole", 0, 1 << 20);
  const FileSurvey s = survey(table({"whole", "half", "hole"}), true);
  EXPECT_EQ(s.hole_bytes, 3u << 19);
  EXPECT_EQ(s.sparse_file, tmp / "half");
}

TEST_F(Survey, WholeBlocksOfSmallFiles) {
  write("small", 1000, 1000);
  const double rounding = survey(table({"small"}), true).rounding;
  EXPECT_GE(rounding, 1);
  EXPECT_LE(rounding, 4.096);
  write("even", 1 << 20, 1 << 20);
  EXPECT_EQ(survey(table({"even"}), true).rounding, 1);
  write("reserved", 4096, 4096);  // with room for more behind its end
  const int fd = ::open((tmp / "reserved").c_str(), O_WRONLY | O_CLOEXEC);
  const bool more = ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 4096, 1 << 20) == 0;
  ::close(fd);
  if (more) {
    EXPECT_EQ(survey(table({"reserved"}), true).rounding, 1);
  }
}

TEST_F(Survey, AnotherFileInTheSamePlaceIsNamed) {
  write("a", 4096, 4096);
  write("b", 4096, 4096);
  const FileTable files = table({"a", "b"});
  const FileSurvey before = survey(files, true);
  EXPECT_NO_THROW(check_unchanged(files, before));
  write("new", 4096, 4096);
  fs::last_write_time(tmp / "new", fs::last_write_time(tmp / "b"));
  fs::rename(tmp / "new", tmp / "b");
  try {
    check_unchanged(files, before);
    FAIL() << "another inode went unseen";
  } catch (const RunError& e) {
    EXPECT_NE(std::string(e.what()).find("/b has changed: it was replaced"), std::string::npos) << e.what();
  }
  EXPECT_NO_THROW(check_unchanged(files, before, {}, 1)) << "the first alone was looked at";
}

TEST_F(Survey, WithoutStableNumbersOfInodesSizeAndTimeDecide) {
  write("a", 4096, 4096);
  const FileTable files = table({"a"});
  const FileSurvey before = survey(files, false);
  const auto time = fs::last_write_time(tmp / "a");
  write("new", 4096, 4096);
  fs::last_write_time(tmp / "new", time);
  fs::rename(tmp / "new", tmp / "a");
  EXPECT_NO_THROW(check_unchanged(files, before));
  write("a", 4096, 4097);
  EXPECT_THROW(check_unchanged(files, before), RunError);
}

}  // namespace
}  // namespace headrace::file_survey_test
