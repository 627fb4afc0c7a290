// Where values of JSON stand in their text.
#include "harness/results/json_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/results/json_place.h"

namespace headrace::results::json_line_test {
namespace {

constexpr std::string_view kText = R"({
  "a": [1, {"b": "x]\"},", "c": [ ]}],
  "d.e": {"f": 2.5},
  "d": {"g": null}
})";

std::string_view from(std::string_view place, std::size_t length) {
  return kText.substr(byte_of(kText, place), length);
}

TEST(JsonLine, EachValueIsFoundByItsPlace) {
  EXPECT_EQ(byte_of(kText, ""), 0u);
  EXPECT_EQ(from("a[0]", 2), "1,");
  EXPECT_EQ(from("a[1].b", 4), "\"x]\\");
  EXPECT_EQ(from("a[1].c", 3), "[ ]");
  EXPECT_EQ(from("d.e.f", 3), "2.5");
  EXPECT_EQ(from("d.g", 4), "null");
}

TEST(JsonLine, AMissingKeyHasThePlaceOfItsParent) {
  EXPECT_EQ(from("a[1].none", 5), "{\"b\":");
  EXPECT_EQ(from("a[7]", 3), "[1,");
  EXPECT_EQ(from("none", 1), "{");
}

TEST(JsonLine, LinesAndColumnsCountFromOne) {
  const TextLine at = line_of(kText, byte_of(kText, "a[0]"));
  EXPECT_EQ(at.line, 2);
  EXPECT_EQ(at.column, 9);
  EXPECT_EQ(line_of("ab", 9).column, 3);
  EXPECT_EQ(line_of("", 0).line, 1);
}

std::string refused(std::string_view text) {
  try {
    const nlohmann::json json = parse_json(text);
    JsonPlace(json).at("rate").number();
  } catch (const JsonError& e) {
    return e.place_in("x.json", text);
  }
  return "";
}

TEST(JsonLine, AnErrorIsReportedInItsFile) {
  EXPECT_EQ(refused("{\n \"rate\": \"fast\"}"), "x.json:2:10: rate: \"fast\": a number is expected");
  EXPECT_EQ(refused("{\n \"other\": 1}"), "x.json:1:1: rate: missing");
  EXPECT_EQ(refused("{\n \"rate\": 1").substr(0, 13), "x.json:2:11: ");
  EXPECT_EQ(refused("{\"rate\": 1}"), "");
}

}  // namespace
}  // namespace headrace::results::json_line_test
