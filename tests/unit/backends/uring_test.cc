// The io_uring readers from inside: also the way that older kernels need.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#ifdef HEADRACE_HAS_URING
#include "harness/backends/uring/ring.h"
#include "harness/backends/uring/uring_engine.h"
#include "tests/unit/file_io_contract.h"

namespace headrace::uring_test {
namespace {

class UringTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    try {
      uring::Ring ring(2, notes_);
    } catch (const RunError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  testing::MakeWhole whole() {
    return [this](auto& files, auto& options) { return uring::make_whole_files(files, options, notes_, GetParam()); };
  }
  Notes notes_;
};

TEST_P(UringTest, ReadsWholeFilesAtEveryDepth) {
  for (const std::uint32_t depth : {1u, 2u, 8u, 64u}) testing::reads_whole_files(whole(), {.queue_depth = depth});
}
TEST_P(UringTest, ReportsFailuresAtEveryDepth) {
  for (const std::uint32_t depth : {1u, 3u, 16u}) testing::reports_failures(whole(), {.queue_depth = depth});
}

TEST_P(UringTest, ReadsOnThroughTheRingWhereTheCacheEnds) {
  testing::TemporaryFiles files;
  constexpr std::uint32_t kHalf = 256 << 10;
  const std::uint32_t file = files.add(2 * kHalf);
  const FileTable& table = files.table();
  const auto forget = [&](std::uint64_t from) {
    const int fd = ::openat(table.root_fd(), table.path(file), O_RDONLY);
    ::fsync(fd);
    ::posix_fadvise(fd, static_cast<off_t>(from), 0, POSIX_FADV_DONTNEED);
    ::close(fd);
  };
  const ReaderOptions options{.block_size = 2 * kHalf, .advice = Advice::random};
  const auto blocks = uring::make_blocks(table, {&file, 1}, options, notes_);
  blocks->attach();
  for (const std::uint64_t cached : {std::uint64_t{2 * kHalf}, std::uint64_t{kHalf}, std::uint64_t{0}}) {
    forget(cached);
    const BlockRequest request{.length = 2 * kHalf};
    const auto done = blocks->exchange({&request, 1}, 1);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].result, 2 * kHalf) << cached;
    EXPECT_TRUE(testing::TemporaryFiles::holds(blocks->data(0), file, 0, 2 * kHalf)) << cached;
  }
  const auto whole = uring::make_whole_files(table, options, notes_, GetParam());
  whole->attach();
  for (const std::uint64_t cached : {std::uint64_t{2 * kHalf}, std::uint64_t{kHalf}, std::uint64_t{0}}) {
    forget(cached);
    const auto done = whole->exchange({&file, 1}, 1);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].error, 0);
    EXPECT_EQ(done[0].bytes, 2 * kHalf) << cached;
    EXPECT_TRUE(testing::TemporaryFiles::holds(whole->data(done[0].slot), file, 0, 2 * kHalf)) << cached;
  }
  EXPECT_FALSE(notes_.take().empty()) << "told, never silent";
}

INSTANTIATE_TEST_SUITE_P(Ways, UringTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Linked" : "StepByStep"; });

class UringPollingTest : public ::testing::TestWithParam<uring::Polling> {
 protected:
  void SetUp() override {
    try {
      uring::Ring ring(2, notes_);
    } catch (const RunError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Notes notes_;
};

TEST_P(UringPollingTest, ARingPollsOrSaysWhyNot) {
  const uring::Ring ring(4, notes_, GetParam());
  const bool noted = !notes_.take().empty();
  EXPECT_EQ(ring.polls_submission(), GetParam().submission && !noted);
  EXPECT_EQ(ring.polls_completion(), GetParam().completion);
}

TEST_P(UringPollingTest, ReadsTheSameAsWithoutPolling) {
  const auto make = [this](auto& files, auto selected, auto& options) {
    return uring::make_blocks(files, selected, options, notes_);
  };
  const auto make_whole = [this](auto& files, auto& options) {
    return uring::make_whole_files(files, options, notes_);
  };
  ReaderOptions options{.queue_depth = 4};
  options.direct = GetParam().completion;
  options.poll_submission = GetParam().submission;
  options.poll_completion = GetParam().completion;
  try {
    testing::reads_blocks(make, options);
    testing::waits(make, make_whole, options);
    testing::reads_whole_files(make_whole, options);
  } catch (const RunError& error) {
    GTEST_SKIP() << error.what();  // a file system without direct I/O
  }
  // Whole files are opened, which nothing can poll for.
  EXPECT_TRUE(!options.poll_completion || !notes_.take().empty());
}

INSTANTIATE_TEST_SUITE_P(Ways, UringPollingTest,
                         ::testing::Values(uring::Polling{true, false}, uring::Polling{false, true},
                                           uring::Polling{true, true}),
                         [](const auto& info) {
                           return std::string(info.param.submission ? "Submission" : "") +
                                  (info.param.completion ? "Completion" : "");
                         });

TEST(UringSetupTest, SaysWhyThereIsNoRing) {
  const std::string text = uring::setup_failure(EPERM);
  EXPECT_EQ(text.find("io_uring_setup: Operation not permitted (EPERM"), 0u) << text;
  EXPECT_NE(text.find("seccomp"), std::string::npos);
}

}  // namespace
}  // namespace headrace::uring_test
#else
TEST(UringTest, IsNotBuilt) { GTEST_SKIP() << "built without liburing"; }
#endif
