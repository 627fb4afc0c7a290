#include "harness/base/system/token.h"

#include <gtest/gtest.h>

namespace headrace::system::token_test {
namespace {

TEST(Token, IsAnotherEachTime) {
  const std::string token = new_token();
  EXPECT_EQ(token.size(), 16u);
  EXPECT_FALSE(same_token(token, new_token()));
  EXPECT_TRUE(same_token(token, token));
}

TEST(Token, IsTheSameOnlyWhole) {
  EXPECT_TRUE(same_token("", ""));
  EXPECT_TRUE(same_token("word", "word"));
  for (const char* wrong : {"", "wor", "words", "Word", "worD", "wo"}) EXPECT_FALSE(same_token(wrong, "word")) << wrong;
  EXPECT_FALSE(same_token("word", ""));
  EXPECT_FALSE(same_token("word", std::string("word\0", 5)));
}

}  // namespace
}  // namespace headrace::system::token_test
