#include "harness/system/limits.h"

#include <gtest/gtest.h>

namespace headrace::system {
namespace {

TEST(Limits, InWords) {
  EXPECT_EQ(limit_in_words({1024, 1024}, false), "1024");
  EXPECT_EQ(limit_in_words({1024, 524288}, false), "1024 (up to 524288)");
  EXPECT_EQ(limit_in_words({8u << 20, Limit::kUnlimited}, true), "8.00 MiB (up to unlimited)");
}

TEST(Limits, OfThisProcess) {
  EXPECT_GT(limit_of(RLIMIT_NOFILE).soft, 0u);
  EXPECT_LE(limit_of(RLIMIT_NOFILE).soft, limit_of(RLIMIT_NOFILE).hard);
}

}  // namespace
}  // namespace headrace::system
