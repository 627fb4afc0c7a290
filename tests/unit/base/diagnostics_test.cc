// Problems: how they print, in which order, and which known word is guessed.
#include "harness/base/diagnostics.h"

#include <gtest/gtest.h>

namespace headrace::diagnostics_test {
namespace {

TEST(Diagnostic, LeavesOutUnknownParts) {
  Diagnostic diagnostic;
  diagnostic.where = {"job.yaml", 4, 5};
  diagnostic.text = "step.time: needs a unit";
  EXPECT_EQ(to_string(diagnostic), "job.yaml:4:5: step.time: needs a unit");
  diagnostic.where = {"--set", 0, 0};
  EXPECT_EQ(to_string(diagnostic), "--set: step.time: needs a unit");
  diagnostic.where = {};
  EXPECT_EQ(to_string(diagnostic), "step.time: needs a unit");
}

TEST(Diagnostics, AProblemIsOneLineWithoutCommandsToTheTerminal) {
  Diagnostics problems;
  problems.error({"a", 1, 2}, "use: 'x\ny\x1b[31m\t'");
  EXPECT_EQ(problems.errors()[0].text, "use: 'x\\ny\\u001b[31m\\t'");
}

TEST(Diagnostics, ReportsAllInTheOrderOfTheFile) {
  Diagnostics problems;
  EXPECT_NO_THROW(problems.throw_if_any());
  problems.error({"job.yaml", 9, 1}, "late");
  problems.error({"job.yaml", 2, 7}, "early");
  problems.error({"--set", 0, 0}, "override");
  try {
    problems.throw_if_any();
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "job.yaml:2:7: early\njob.yaml:9:1: late\n--set: override");
  }
}

TEST(Nearest, FindsSlipsOnly) {
  const std::vector<std::string> keys{"block_size", "file", "queue_depth", "t"};
  EXPECT_EQ(nearest("blocksize", keys), "block_size");
  EXPECT_EQ(nearest("Queue_Depht", keys), "queue_depth");
  EXPECT_EQ(nearest("flie", keys), "file");
  EXPECT_EQ(nearest("que", keys), "queue_depth");
  const std::vector<std::string> names = {"read_bandwidth_required", "read_bandwidth_share", "io_uring"};
  EXPECT_EQ(nearest("read_bandwith", names), "read_bandwidth_required");
  EXPECT_EQ(nearest("uring", names), "io_uring");
  EXPECT_EQ(nearest("completely_else", keys), "");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(did_you_mean("blocksize", keys), "; did you mean 'block_size'?");
  EXPECT_EQ(did_you_mean("zzzzzz", keys), "");
}

TEST(Nearest, AVeryLongWordTakesNoLonger) {
  const std::vector<std::string> known{"queue_depth", "block_size"};
  EXPECT_EQ(nearest(std::string(4 << 20, 'q'), known), "");
}

TEST(Join, Separates) {
  const std::vector<std::string> words{"a", "b"};
  EXPECT_EQ(join(words), "a, b");
  EXPECT_EQ(join(words, " | "), "a | b");
  EXPECT_EQ(join({}), "");
}

}  // namespace
}  // namespace headrace::diagnostics_test
