// YAML documents: places, duplicates, syntax errors, overrides, and writing back.
#include "harness/base/config/document.h"

#include <gtest/gtest.h>

#include <sstream>

namespace headrace::config::document_test {
namespace {

Value parse(std::string_view text) {
  Diagnostics problems;
  Value value = parse_yaml(text, "f.yaml", problems);
  for (const Diagnostic& d : problems.errors()) ADD_FAILURE() << to_string(d);
  return value;
}

std::vector<std::string> problems_of(std::string_view text) {
  Diagnostics problems;
  parse_yaml(text, "f.yaml", problems);
  std::vector<std::string> lines;
  for (const Diagnostic& d : problems.errors()) lines.push_back(to_string(d));
  return lines;
}

TEST(Document, KeepsPlacesAndTexts) {
  const Value root = parse("job: a\nstep:\n  time: 200ms  # why\n  list: [1, 2]\nnothing:\n");
  ASSERT_TRUE(root.is_map());
  const Value* time = root.find("step")->find("time");
  EXPECT_EQ(time->text, "200ms");
  EXPECT_EQ(time->where.line, 3);
  EXPECT_EQ(time->where.column, 9);
  EXPECT_EQ(root.find("step")->entries[0].key_where.column, 3);
  EXPECT_EQ(root.find("step")->find("list")->items.size(), 2u);
  EXPECT_TRUE(root.find("nothing")->is_null());
  EXPECT_EQ(root.find("absent"), nullptr);
  EXPECT_EQ(time->find("x"), nullptr);
}

TEST(Document, ReportsDuplicatesAndSyntax) {
  EXPECT_EQ(problems_of("a: 1\nb: 2\na: 3\n"),
            std::vector<std::string>{"f.yaml:3:1: duplicate key 'a' (first at line 1)"});
  const auto syntax = problems_of("a: [1, 2\nb: 3\n");
  ASSERT_EQ(syntax.size(), 1u);
  EXPECT_EQ(syntax[0].rfind("f.yaml:", 0), 0u);
  EXPECT_NE(syntax[0].find("not valid YAML"), std::string::npos);
  EXPECT_EQ(problems_of("a: 1\n---\nb: 2\n").size(), 1u);
  EXPECT_EQ(problems_of("? [1]\n: 2\n").size(), 1u);
}

TEST(Document, ResolvesAliases) {
  const Value root = parse("a: &x {k: 1}\nb: *x\n");
  EXPECT_EQ(root.find("b")->find("k")->text, "1");
}

TEST(Document, RefusesAliasBombs) {
  std::ostringstream bomb;
  bomb << "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb << 'a' << i << ": &a" << i << " [x";
    for (int j = 0; j < 10; ++j) bomb << ", *a" << i - 1;
    bomb << "]\n";
  }
  EXPECT_EQ(problems_of(bomb.str()).size(), 1u);
}

TEST(Document, RefusesLongTextsCopiedByAliases) {
  Diagnostics problems;
  std::string text = "a: &a " + std::string(1 << 20, 'x') + "\nlist: [";
  for (int i = 0; i < 100; ++i) text += "*a, ";
  parse_yaml(text + "*a]\n", "c.yaml", problems);
  ASSERT_EQ(problems.errors().size(), 1u);
  EXPECT_NE(problems.errors()[0].text.find("aliases"), std::string::npos);
}

TEST(Document, ManyKeysTakeNoLongerThanTheyMust) {
  Diagnostics problems;
  std::string text;
  for (int i = 0; i < 60000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  const Value root = parse_yaml(text + "k7: 2\n", "c.yaml", problems);
  EXPECT_EQ(root.entries.size(), 60000u);
  ASSERT_EQ(problems.errors().size(), 1u);
  EXPECT_EQ(problems.errors()[0].text, "duplicate key 'k7' (first at line 8)");
}

TEST(Document, RefusesInvalidUtf8) {
  for (const char* wrong : {"\xff", "\xc3", "\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    Diagnostics problems;
    parse_yaml("a: 1\nb: x" + std::string(wrong), "c.yaml", problems);
    ASSERT_EQ(problems.errors().size(), 1u);
    EXPECT_EQ(to_string(problems.errors()[0]), "c.yaml:2:5: not UTF-8 text");
  }
  Diagnostics problems;
  EXPECT_EQ(parse_yaml("a: \xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x80", "c.yaml", problems).find("a")->text,
            "\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x80");
  EXPECT_TRUE(problems.empty());
}

TEST(Document, RefusesEscapesThatGiveNoCharacter) {
  Diagnostics problems;
  parse_yaml("a: \"x\\_y\"", "c.yaml", problems);
  ASSERT_EQ(problems.errors().size(), 1u);
  EXPECT_EQ(to_string(problems.errors()[0]), "c.yaml:1:4: an escape that gives no UTF-8 character");
}

TEST(Document, EmptyAndUnreadable) {
  EXPECT_TRUE(parse("").is_null());
  EXPECT_TRUE(parse("# only a comment\n").is_null());
  Diagnostics problems;
  read_yaml("/nonexistent/x.yaml", problems);
  ASSERT_EQ(problems.errors().size(), 1u);
  EXPECT_EQ(to_string(problems.errors()[0]), "/nonexistent/x.yaml: cannot be read: No such file or directory");
  read_yaml("/tmp", problems);
  EXPECT_EQ(problems.errors().size(), 2u);
}

TEST(Document, RoundTripsText) {
  const char* text =
      "a: 1\nlist:\n  - x\n  - k: v\n    deep: [1, [2, 3]]\n  - []\nempty: {}\nnull_text: "
      "\"null\"\nnothing: ~\n"
      "odd: \"a: b # c\"\nspace: \" x \"\nline: \"1\\n2\"\ndash: -5\nnote: \"- x\"\nvar: "
      "${scratch}/train\n\"odd key: x\": 1\n";
  const Value first = parse(text);
  const Value second = parse(to_yaml(first));
  EXPECT_EQ(to_yaml(first), to_yaml(second));
  EXPECT_EQ(second.find("null_text")->text, "null");
  EXPECT_TRUE(second.find("nothing")->is_null());
  EXPECT_EQ(second.find("odd")->text, "a: b # c");
  EXPECT_EQ(second.find("space")->text, " x ");
  EXPECT_EQ(second.find("line")->text, "1\n2");
  EXPECT_EQ(second.find("list")->items[1].find("deep")->items[1].items[0].text, "2");
  EXPECT_EQ(second.find("odd key: x")->text, "1");
}

TEST(Override, SetsMakesAndIndexes) {
  Value root = parse("a: {b: 1}\nlist: [{k: 1}, {k: 2}]\n");
  Diagnostics problems;
  apply_override(root, "a.b=2", problems);
  apply_override(root, "new.deep.key=3kB", problems);
  apply_override(root, "list.1.k=[7, 8]", problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(root.find("a")->find("b")->text, "2");
  EXPECT_EQ(root.find("a")->find("b")->where.file, "--set");
  EXPECT_EQ(root.find("new")->find("deep")->find("key")->text, "3kB");
  EXPECT_EQ(root.find("list")->items[1].find("k")->items[1].text, "8");
}

TEST(Override, RefusesInvalidValues) {
  Value root = parse("a: 1\nlist: [1]\n");
  for (const char* assignment : {"", "novalue", "=3", "a.b=1", "list.1=2", "list.x=2", "x..y=1", "x=[1"}) {
    Diagnostics problems;
    apply_override(root, assignment, problems);
    EXPECT_EQ(problems.errors().size(), 1u) << assignment;
    EXPECT_EQ(problems.errors().at(0).where.file, "--set");
  }
}

}  // namespace
}  // namespace headrace::config::document_test
