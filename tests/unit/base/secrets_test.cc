#include "harness/base/secrets.h"

#include <gtest/gtest.h>

namespace headrace::secrets_test {
namespace {

TEST(Secrets, AreStruckOutInEveryForm) {
  const Secrets secrets({"AKIAIOSFODNN7EXAMPLE", "IQoJ+b3Jp/Z2luX2VjEA==", "pass"});
  const struct {
    const char *text, *struck;
  } kCases[] = {
      {"", ""},
      {"nothing of it", "nothing of it"},
      {"key AKIAIOSFODNN7EXAMPLE!", "key ********************!"},
      {"akiaiosfodnn7example", "********************"},
      {"the first half: AKIAIOSFOD", "the first half: **********"},
      {"too little: AKIAIOS", "too little: AKIAIOS"},
      {"token IQoJ+b3Jp/Z2luX2VjEA==.", "token **********************."},
      {"IQoJ%2Bb3Jp%2fZ2luX2VjEA%3D%3D", "******************************"},
      {"IQoJ&#43;b3Jp&#x2F;Z2luX2VjEA==", "*******************************"},
      {"IQoJ\\u002bb3Jp\\/Z2luX2VjEA==", "****************************"},
      {"the pass", "the ****"},
      {"pas", "pas"},
      {"50 % of it, a & b; \\", "50 % of it, a & b; \\"},
      {"cut IQoJ%2Bb3Jp%", "cut ***********%"},
  };
  for (const auto& one : kCases) EXPECT_EQ(secrets.struck_out(one.text), one.struck);
}

TEST(Secrets, AreStruckOutWholeAlone) {
  const Secrets secrets({"the-cluster-of-node-7"}, Secrets::kWhole);
  EXPECT_EQ(secrets.struck_out("host the-cluster-of-node-8"), "host the-cluster-of-node-8");
  EXPECT_EQ(secrets.struck_out("x the-cluster-of-node-7"), "x *********************");
}

TEST(Secrets, ShortOnesAreNone) {
  const Secrets secrets({"", "abc"});
  EXPECT_EQ(secrets.struck_out("abc"), "abc");
}

TEST(Secrets, SignaturesAreStruckOutInEveryForm) {
  const struct {
    const char *text, *struck;
  } kCases[] = {
      {"Signature=5d672d79c15b13162d9279b0855cfba6", "Signature=********************************"},
      {"a piece: 5d672d79c15b, more", "a piece: ************, more"},
      {"request 4442587FB7D0A2F9", "request 4442587FB7D0A2F9"},
      {"too short 5d672d79c15", "too short 5d672d79c15"},
      {"&#x35;d672d79c15b", "*****************"},
      {"&#53;&#100;672d79c15b.", "*********************."},
      {"5d672d79c15\\u0062", "*****************"},
      {"5d672d79c15%62", "**************"},
      {"5D672D79C15B13162D9279B0855CFBA6AABBCCDD", "****************************************"},
  };
  for (const auto& one : kCases) EXPECT_EQ(signatures_struck_out(one.text), one.struck);
}

TEST(Secrets, AreFoundWholeWhereTheyAreLong) {
  const Secrets secrets({"AKIAIOSFODNN7EXAMPLE", "minioadmin"});
  EXPECT_TRUE(secrets.whole_one_in("data/akiaiosfodnn7example/x"));
  EXPECT_FALSE(secrets.whole_one_in("data/AKIAIOSFODNN7EXAMPL"));
  EXPECT_FALSE(secrets.whole_one_in("minioadmin/x")) << "so a folder may be named";
}

}  // namespace
}  // namespace headrace::secrets_test
