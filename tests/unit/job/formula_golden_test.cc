// Every worked example of every formula, within its tolerance.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "harness/base/config/document.h"
#include "harness/job/formula.h"
#include "tests/unit/source_dir.h"

namespace headrace::job::formula_golden_test {
namespace {

/// Vectors hold bare SI numbers, words, truth values and lists.
Argument argument(const Input& input, const config::Value& value) {
  if (input.list) {
    Argument list;
    for (const config::Value& item : value.items) list.list.push_back(std::stod(item.text));
    return list;
  }
  for (std::size_t i = 0; i < input.choices.size(); ++i)
    if (input.choices[i] == value.text) return {static_cast<double>(i), {}};
  if (input.dimension == Dimension::boolean) return {parse_quantity(value.text, Dimension::boolean).value, {}};
  return {std::stod(value.text), {}};
}

struct Vectors {
  config::Value root;
  Vectors() {
    Diagnostics problems;
    root = config::read_yaml(source_dir() + "/tests/golden/formulas.yaml", problems);
    problems.throw_if_any();
  }
};

TEST(GoldenVectors, EveryOneIsMet) {
  const Vectors vectors;
  ASSERT_EQ(vectors.root.items.size(), 313u);
  std::set<std::string> seen;
  for (const config::Value& vector : vectors.root.items) {
    SCOPED_TRACE(vector.find("id")->text);
    const std::string& name = vector.find("formula")->text;
    seen.insert(name);
    const Formula* formula = find_formula(name);
    ASSERT_NE(formula, nullptr);
    EXPECT_EQ(vector.find("id")->text.substr(0, formula->id.size() + 1), std::string(formula->id) + ".");
    EXPECT_EQ(vector.find("unit")->text, formula->unit);
    const config::Value& inputs = *vector.find("inputs");
    std::vector<Argument> arguments;
    std::size_t used = 0;
    for (const Input& input : formula->inputs) {
      const config::Value* given = inputs.find(input.name);
      used += given != nullptr;
      ASSERT_TRUE(given || input.fallback) << input.name;
      arguments.push_back(given ? argument(input, *given) : Argument{*input.fallback, {}});
    }
    EXPECT_EQ(used, inputs.entries.size()) << "an input that the formula does not know";
    const Result result = evaluate(*formula, arguments);
    const std::string& expected = vector.find("expected")->text;
    if (formula->unit == "verdict") {
      EXPECT_EQ(result.text, expected);
      continue;
    }
    const double want = std::stod(expected), tolerance = std::stod(vector.find("rel_tol")->text);
    EXPECT_LE(std::abs(result.number - want), tolerance * std::abs(want)) << result.number << " against " << want;
  }
  EXPECT_EQ(seen.size(), 124u);
  EXPECT_EQ(all_formulas().size(), 124u);
}

}  // namespace
}  // namespace headrace::job::formula_golden_test
