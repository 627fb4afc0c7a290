#include "harness/base/file_text.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "harness/base/diagnostics.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::file_text_test {
namespace {

using testing::TemporaryFolder;

std::string refusal(const std::string& path, std::size_t most = kMostText) {
  try {
    file_text(path, most);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(FileText, IsReadWhole) {
  const TemporaryFolder tmp;
  const std::string text(3'000'000, 'x');
  tmp.write("file", text);
  EXPECT_EQ(file_text(tmp / "file"), text);
  tmp.write("empty", "");
  EXPECT_EQ(file_text(tmp / "empty"), "");
}

TEST(FileText, RefusesEndlessFiles) {
  const TemporaryFolder tmp;
  tmp.write("sparse", "");
  ASSERT_EQ(::truncate((tmp / "sparse").c_str(), off_t{5} << 30), 0);
  EXPECT_EQ(refusal(tmp / "sparse"), "has 5120 MiB; at most 256 MiB are read");
  EXPECT_EQ(refusal("/dev/zero", std::size_t{4} << 20), "has more than 4 MiB; at most 4 MiB are read");
  EXPECT_EQ(refusal(tmp.path()), "cannot be read: Is a directory");
  EXPECT_EQ(refusal(tmp / "nothing"), "cannot be read: No such file or directory");
}

/// As <(command) of a shell gives it.
TEST(FileText, APipeOfTheShellIsReadToItsEndOrItsLimit) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto read = [](std::size_t blocks, std::size_t most) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const std::jthread writer([&] {
      const std::string block(1 << 20, 'y');
      for (std::size_t i = 0; i<blocks&& ::write(ends[1], block.data(), block.size())> 0; ++i) {
      }
      ::close(ends[1]);
    });
    const std::string refused = refusal("/proc/self/fd/" + std::to_string(ends[0]), most);
    ::close(ends[0]);
    return refused;
  };
  EXPECT_EQ(read(3, std::size_t{3} << 20), "");
  EXPECT_EQ(read(SIZE_MAX, std::size_t{2} << 20), "has more than 2 MiB; at most 2 MiB are read");
}

TEST(FileText, ASilentPipeIsGivenUp) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(refusal("/proc/self/fd/" + std::to_string(ends[0])), "gave nothing to read for 10 s");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(FileText, ANamedPipeIsRefused) {
  const TemporaryFolder tmp;
  ASSERT_EQ(::mkfifo((tmp / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(tmp / "pipe"), "is a pipe or a device: write its output to a file and name that");
}

}  // namespace
}  // namespace headrace::file_text_test
