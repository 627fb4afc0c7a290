#include "harness/base/printable.h"
#include "harness/base/code_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace headrace::printable_test {
namespace {

TEST(Printable, KeepsReadableText) {
  for (const char* text : {"", "plain", "Zürich 数据 😀 عربي", "a\\n", "é", "\xf4\x8f\xbf\xbd"})
    EXPECT_EQ(printable(text), text);
}

/// sorted() of os.listdir() in Python 3.11.
TEST(CodePoints, SortNamesAsPythonDoes) {
  const std::vector<std::string> sorted{
      "A", "Z", "a", "caf\xc3\xa9", "caf\x80", "\xe6\x97\xa5", "\x80", "\xff", "\xee\x80\x80", "\xf0\x9f\x98\x80"};
  std::vector<std::string> names(sorted.rbegin(), sorted.rend());
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return python_name(a) < python_name(b); });
  EXPECT_EQ(names, sorted);
}

TEST(CodePoints, DistinguishUtf8FromOtherBytes) {
  for (const char* text : {"", "plain\n", "caf\xc3\xa9", "\xf0\x9f\x98\x80"}) EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text : {"\xe9", "caf\xe9.jpg", "\xc3", "a\xed\xa0\x80", "\xc0\xaf"}) EXPECT_FALSE(is_utf8(text));
}

TEST(Printable, ShowsCommandsToTerminals) {
  EXPECT_EQ(printable("a\x1b[31mb\a\b\x7f"), "a\\u001b[31mb\\u0007\\u0008\\u007f");
  EXPECT_EQ(printable("C1: \xc2\x9b"
                      "31m"),
            "C1: \\u009b31m");
  EXPECT_EQ(printable("one\ntwo\rthree\tfour"), "one\\ntwo\\rthree\\tfour");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\u0000b");
}

TEST(Printable, ShowsReversingAndHidingCharacters) {
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "SSAP"),
            "\\u202eSSAP");
  EXPECT_EQ(printable("\xe2\x81\xa6\xe2\x80\x8b\xef\xbb\xbf\xd8\x9c\xc2\xad"), "\\u2066\\u200b\\ufeff\\u061c\\u00ad");
  EXPECT_EQ(printable("\xf3\xa0\x81\x81"), "\\udb40\\udc41");
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\u2028");
}

TEST(Printable, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("caf\xe9.bin"), "caf\\xe9.bin");
  for (const char* text : {"\xc3", "\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x9b"})
    for (const char c : printable(text)) EXPECT_TRUE(c >= ' ' && c < 0x7f) << text;
}

TEST(Printable, ChangesNothingTheSecondTime) {
  const std::string once = printable("\x1b\n\xe2\x80\xae\xff é");
  EXPECT_EQ(printable(once), once);
}

TEST(PrintableLines, KeepsLinesAndTheValueOfJson) {
  EXPECT_EQ(printable_lines("a\nb\r\nc\td\re\x1b"), "a\nb\r\nc\td\\re\\u001b");
  const nlohmann::json value{{"\x7f\xc2\x85", "\xe2\x80\xae\xf3\xa0\x81\x81 \x1b\n\\"}};
  const std::string text = printable_lines(value.dump(2));
  EXPECT_EQ(nlohmann::json::parse(text), value);
  EXPECT_EQ(text.find("\xe2"), text.npos);
  EXPECT_EQ(text.find('\x7f'), text.npos);
}

}  // namespace
}  // namespace headrace::printable_test
