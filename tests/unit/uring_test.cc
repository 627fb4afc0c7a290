// The io_uring readers from inside: also the way that older kernels need.
#include <gtest/gtest.h>

#ifdef HEADRACE_HAS_URING
#include "harness/backends/uring/ring.h"
#include "harness/backends/uring/uring_engine.h"
#include "tests/unit/file_io_contract.h"

namespace headrace {
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
    return [this](auto& files, auto& options) {
      return uring::make_whole_files(files, options, notes_, GetParam());
    };
  }
  Notes notes_;
};

TEST_P(UringTest, ReadsWholeFilesAtEveryDepth) {
  for (const std::uint32_t depth : {1u, 2u, 8u, 64u})
    testing::reads_whole_files(whole(), {.queue_depth = depth});
}
TEST_P(UringTest, TellsFailuresAtEveryDepth) {
  for (const std::uint32_t depth : {1u, 3u, 16u})
    testing::tells_failures(whole(), {.queue_depth = depth});
}

INSTANTIATE_TEST_SUITE_P(Ways, UringTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Linked" : "StepByStep"; });

TEST(UringSetupTest, SaysWhyThereIsNoRing) {
  const std::string text = uring::setup_failure(EPERM);
  EXPECT_EQ(text.find("io_uring_setup: Operation not permitted (errno 1"), 0u) << text;
  EXPECT_NE(text.find("seccomp"), std::string::npos);
}

}  // namespace
}  // namespace headrace
#else
TEST(UringTest, IsNotBuilt) { GTEST_SKIP() << "built without liburing"; }
#endif
