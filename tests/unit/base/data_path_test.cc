#include "harness/base/data_path.h"

#include <gtest/gtest.h>

#include "harness/base/diagnostics.h"

namespace headrace::data_path_test {
namespace {

using Names = std::vector<std::string>;

TEST(DataPath, BracesAreSpreadAsByBash) {
  EXPECT_EQ(spread_braces("{003..000}.tar"), (Names{"003.tar", "002.tar", "001.tar", "000.tar"}));
  EXPECT_EQ(spread_braces("{000..009..3}"), (Names{"000", "003", "006", "009"}));
  EXPECT_EQ(spread_braces("{9..0..-4}"), (Names{"9", "5", "1"}));
  EXPECT_EQ(spread_braces("{0..9..-4}"), (Names{"0", "4", "8"}));
  EXPECT_EQ(spread_braces("{1..3..0}"), (Names{"1", "2", "3"}));
  EXPECT_EQ(spread_braces("{a..c}/{x,y}"), (Names{"a/x", "a/y", "b/x", "b/y", "c/x", "c/y"}));
  EXPECT_EQ(spread_braces("{e..a..2}"), (Names{"e", "c", "a"}));
  EXPECT_EQ(spread_braces("{-1..1}"), (Names{"-1", "0", "1"}));
}

TEST(DataPath, NumbersAreAsWideAsTheWiderEndWhereOneBeginsWithZero) {
  EXPECT_EQ(spread_braces("{8..010}"), (Names{"008", "009", "010"}));
  EXPECT_EQ(spread_braces("{098..1000..902}"), (Names{"0098", "1000"}));
  EXPECT_EQ(spread_braces("{10..9}"), (Names{"10", "9"}));
  EXPECT_EQ(spread_braces("{-01..0}"), (Names{"-01", "000"}));
}

TEST(DataPath, OtherBracesStay) {
  for (const char* text :
       {"{a..3}", "{1..c}", "{ab..cd}", "{1..3..x}", "{1..3..}", "{..3}", "{1...3}", "{1..2..3..4}", "{x}", "{1..3"})
    EXPECT_EQ(spread_braces(text), Names{text}) << text;
}

TEST(DataPath, TooManyNamesAreRefusedInBothDirections) {
  EXPECT_THROW(spread_braces("{0..1000000}"), UsageError);
  EXPECT_THROW(spread_braces("{1000000..0}"), UsageError);
  EXPECT_THROW(spread_braces("{-9223372036854775808..9223372036854775807}"), UsageError);
  EXPECT_EQ(spread_braces("{0..1000000..500000}").size(), 3u);
}

TEST(DataPath, HomesAndVariablesAreRefused) {
  for (const char* path : {"~", "~/x", "$HOME/x", "${HOME}", "$DATA/x"})
    EXPECT_THROW(data_path(path), UsageError) << path;
  for (const char* path : {"./~", "a/~", "~x", "./$HOME", "a$b", "/~", "s3://b/~"}) EXPECT_EQ(data_path(path), path);
}

TEST(DataPath, AFolderLiesInItselfAndInThoseAboveIt) {
  EXPECT_TRUE(lies_in("/a/b", "/a"));
  EXPECT_TRUE(lies_in("/a", "/a"));
  EXPECT_FALSE(lies_in("/a", "/a/b"));
  EXPECT_FALSE(lies_in("/ab", "/a"));
}

}  // namespace
}  // namespace headrace::data_path_test
