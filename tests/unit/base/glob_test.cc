#include "harness/base/glob.h"

#include <gtest/gtest.h>

namespace headrace::glob_test {
namespace {

TEST(Glob, MatchesLikeAShell) {
  EXPECT_TRUE(glob_match("ingest.*", "ingest.read_bandwidth"));
  EXPECT_TRUE(glob_match("*read*", "small_file_read/engine:posix"));
  EXPECT_TRUE(glob_match("a?c", "abc"));
  EXPECT_FALSE(glob_match("ingest.*", "host.cpu_cores"));
  EXPECT_FALSE(glob_match("a", "ab"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_FALSE(glob_match("?", ""));
}

}  // namespace
}  // namespace headrace::glob_test
