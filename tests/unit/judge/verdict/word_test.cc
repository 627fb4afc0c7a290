#include "harness/judge/verdict/word.h"

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

namespace headrace::word_test {
namespace {

constexpr Outcome kAll[] = {Outcome::fail,        Outcome::error,      Outcome::inconclusive,
                            Outcome::interrupted, Outcome::incomplete, Outcome::stale,
                            Outcome::skipped,     Outcome::pass,       Outcome::measured};

TEST(Word, EachHasItsOwnAndIsReadBack) {
  std::set<std::string_view> words;
  for (const Outcome one : kAll) {
    EXPECT_TRUE(words.insert(to_string(one)).second) << to_string(one);
    EXPECT_EQ(outcome_named(to_string(one)), one) << to_string(one);
  }
  EXPECT_EQ(to_string(Outcome::inconclusive), "INCONCLUSIVE");
  EXPECT_FALSE(outcome_named("pass"));
  EXPECT_FALSE(outcome_named(""));
}

TEST(Word, ExitCodesAreTheDocumentedOnes) {
  const std::pair<Outcome, int> codes[] = {{Outcome::pass, 0},   {Outcome::measured, 0},      {Outcome::error, 1},
                                           {Outcome::fail, 10},  {Outcome::inconclusive, 11}, {Outcome::incomplete, 12},
                                           {Outcome::stale, 12}, {Outcome::skipped, 77}};
  for (const auto& [outcome, code] : codes) EXPECT_EQ(exit_code(outcome), code) << to_string(outcome);
  EXPECT_EQ(exit_code(Outcome::interrupted, SIGINT), 130);
  EXPECT_EQ(exit_code(Outcome::interrupted, SIGTERM), 143);
  EXPECT_EQ(exit_code(Outcome::interrupted), 130);
}

TEST(Word, LostOutputIsAnErrorUnlessTheCodeShowsMore) {
  for (const int code : {0, 1, 11, 12, 77}) EXPECT_EQ(exit_code_when_lost(code), 1) << code;
  for (const int code : {2, 10, 130, 143}) EXPECT_EQ(exit_code_when_lost(code), code);
}

TEST(Word, TheWorstDecides) {
  EXPECT_EQ(worst(Outcome::pass, Outcome::fail), Outcome::fail);
  EXPECT_EQ(worst(Outcome::error, Outcome::inconclusive), Outcome::error);
  EXPECT_EQ(worst(Outcome::measured, Outcome::skipped), Outcome::skipped);
  EXPECT_EQ(worst({.fail = true, .error = true, .inconclusive = true, .incomplete = true}), Outcome::fail);
  EXPECT_EQ(worst({.error = true, .inconclusive = true}), Outcome::error);
  EXPECT_EQ(worst({.inconclusive = true, .incomplete = true}), Outcome::inconclusive);
  EXPECT_EQ(worst({.incomplete = true}), Outcome::incomplete);
  EXPECT_EQ(worst(Found{}), Outcome::pass);
  EXPECT_EQ(worst(Found{}, Outcome::measured), Outcome::measured);
}

/// An enum is a number to the library, unless somebody says otherwise.
TEST(Word, DocumentsHaveWords) {
  EXPECT_EQ(nlohmann::json(Outcome::fail), "FAIL");
  EXPECT_EQ(nlohmann::ordered_json(Reason::two_humped), "two-humped");
  EXPECT_EQ(nlohmann::json(Reason::none), "");
}

}  // namespace
}  // namespace headrace::word_test
