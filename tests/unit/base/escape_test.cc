#include "harness/base/escape.h"

#include <gtest/gtest.h>

namespace headrace::escape_test {
namespace {

TEST(CsvField, IsNoFormulaAndKeepsNumbers) {
  const struct {
    const char *text, *field;
  } kCases[] = {
      {"", ""},
      {"r1", "r1"},
      {"a,b", "\"a,b\""},
      {"say \"x\"", "\"say \"\"x\"\"\""},
      {"=cmd|'/C calc'!A0", "'=cmd|'/C calc'!A0"},
      {"=1,2", "\"'=1,2\""},
      {"+x", "'+x"},
      {"-x", "'-x"},
      {"-", "'-"},
      {"@SUM(A1)", "'@SUM(A1)"},
      {"\t=1", "'\t'=1"},
      {"\r=1", "\"'\r'=1\""},
      {"\uFF1D1", "'\uFF1D1"},
      {"a;=1", "a;'=1"},
      {"a\n=1", "\"a\n'=1\""},
      {"a=1", "a=1"},
      {"x;y=1", "x;y=1"},
      {"-5", "-5"},
      {"+3.5e-7", "+3.5e-7"},
      {"+-5", "'+-5"},
      {"-1+1", "'-1+1"},
      {"1e5", "1e5"},
  };
  for (const auto& one : kCases) EXPECT_EQ(csv_field(one.text), one.field) << one.text;
}

TEST(ShellWord, PrintsOnOneLine) {
  const struct {
    const char *text, *word, *of_sh;
  } kCases[] = {
      {"a/b-c_1.yaml", "a/b-c_1.yaml", "a/b-c_1.yaml"},
      {"", "''", "''"},
      {"sp ace;touch PWNED", "'sp ace;touch PWNED'", "'sp ace;touch PWNED'"},
      {"$(id)", "'$(id)'", "'$(id)'"},
      {"it's", "'it'\\''s'", "'it'\\''s'"},
      {"back\\slash", "'back\\slash'", "'back\\slash'"},
      {"caf\u00e9", "'caf\u00e9'", "'caf\u00e9'"},
      {"a\nb", "$'a\\nb'", "'a\nb'"},
      {"it's\\\x1b[31m\n", "$'it\\'s\\\\\\x1b[31m\\n'", "'it'\\''s\\\x1b[31m\n'"},
      {"caf\xe9", "$'caf\\xe9'", "'caf\xe9'"},
      {"\u202e", "$'\\xe2\\x80\\xae'", "'\u202e'"},
  };
  for (const auto& one : kCases) {
    EXPECT_EQ(shell_word(one.text), one.word);
    EXPECT_EQ(sh_word(one.text), one.of_sh);
  }
}

}  // namespace
}  // namespace headrace::escape_test
