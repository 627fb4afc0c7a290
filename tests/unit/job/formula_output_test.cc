// Formulas as text and JSON, arguments as typed, and the page made from them.
#include "harness/job/formula_output.h"
#include "harness/job/sources.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/job/sources.h"

namespace headrace::job::formula_output_test {
namespace {

std::vector<Argument> typed(const char* name, const std::vector<std::string>& assignments) {
  Diagnostics problems;
  auto arguments = parse_arguments(*find_formula(name), assignments, problems);
  problems.throw_if_any();
  return arguments;
}

std::string refusal(const char* name, const std::vector<std::string>& assignments) {
  try {
    typed(name, assignments);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(Arguments, TakeUnitsOrBareNumbers) {
  for (const auto& inputs : {std::vector<std::string>{"sample_rate_per_s=10240/s", "sample_bytes=130kB"},
                             {"sample_bytes=130000.0", "sample_rate_per_s=10240"}}) {
    const auto json = nlohmann::json::parse(result_json(*find_formula("A3"), typed("A3", inputs)));
    EXPECT_EQ(json["id"], "A3");
    EXPECT_EQ(json["formula"], "read_bandwidth_required");
    EXPECT_EQ(json["value"], 1331200000.0);
    EXPECT_EQ(json["unit"], "B/s");
    EXPECT_EQ(json["inputs"]["read_amplification_ratio"], 1);
  }
  EXPECT_EQ(typed("F1", {"collective=broadcast", "ranks_count=8"})[0].number, 4);
  EXPECT_EQ(typed("F16", {"kv_hidden_count=1", "hidden_count=1", "element_bytes=2", "achieved_flop_per_s=4e14",
                          "link_bytes_per_s=5e10", "causal=True"})[5]
                .number,
            1);
  EXPECT_EQ(typed("D9", {"stored_gb=100TB", "tier_limits_gb=[50000, 500000]",
                         "tier_prices_usd_per_gb_month=0.023,0.022,0.021"})[1]
                .list,
            (std::vector<double>{50000, 500000}));
  const auto verdict = nlohmann::json::parse(
      result_json(*find_formula("verdict"),
                  typed("verdict", {"lower_bound=2342000000.0", "upper_bound=2.458GB/s", "required=1331200000"})));
  EXPECT_EQ(verdict["value"], "PASS");
  EXPECT_EQ(verdict["unit"], "verdict");
}

TEST(Lines, AreEachEvaluatedOrRefused) {
  const auto value = [](std::string_view line) {
    const auto [text, good] = evaluated_line(line);
    EXPECT_TRUE(good) << text;
    return nlohmann::json::parse(text);
  };
  EXPECT_EQ(value(R"({"formula": "A3", "inputs": {"sample_rate_per_s": 10240, "sample_bytes": "130kB"}})"),
            nlohmann::json({{"value", 1331200000.0}, {"unit", "B/s"}}));
  EXPECT_EQ(value(R"({"formula": "busbw_factor", "inputs": {"collective": "broadcast", "ranks_count": 8}})")["value"],
            1);
  EXPECT_EQ(value(R"({"formula": "D9", "inputs": {"stored_gb": "100TB", "tier_limits_gb": [50000, 500000],
                      "tier_prices_usd_per_gb_month": [0.023, 0.022, 0.021]}})")["value"],
            2250);
  EXPECT_EQ(value(R"({"formula": "A3", "inputs": {"sample_rate_per_s": 1e-7, "sample_bytes": 1.5e17}})")["value"],
            1.5e10);
  for (const char* refused :
       {"", "x", "[]", "{}", R"({"formula": 1, "inputs": {}})", R"({"formula": "Z1", "inputs": {}})",
        R"({"formula": "A3", "inputs": []})", R"({"formula": "A3", "inputs": {"sample_bytes": 1}})",
        R"({"formula": "A3", "inputs": {"sample_rate_per_s": -1, "sample_bytes": 1}})",
        R"({"formula": "A3", "inputs": {"sample_rate_per_s": {}, "sample_bytes": 1}})",
        R"({"formula": "A3", "inputs": {"sample_rate_per_s": 1e300, "sample_bytes": 1e300}})"}) {
    const auto [text, good] = evaluated_line(refused);
    EXPECT_FALSE(good) << refused;
    EXPECT_FALSE(nlohmann::json::parse(text)["error"].get<std::string>().empty()) << refused;
    EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line";
  }
}

TEST(Arguments, ReportEveryProblem) {
  EXPECT_EQ(refusal("A3", {"sample_rate=1", "sample_bytes=130s", "cache_hit_ratio=2", "cache_hit_ratio=0", "x"}),
            "read_bandwidth_required: unknown input 'sample_rate'; did you mean "
            "'sample_rate_per_s'? (inputs: "
            "sample_rate_per_s, sample_bytes, read_amplification_ratio, cache_hit_ratio)\n"
            "read_bandwidth_required: sample_bytes = 130s: 's' is a unit of time, a size is "
            "needed: B, kB, MB, GB, TB, PB, "
            "KiB, MiB, GiB, TiB, PiB\n"
            "read_bandwidth_required: cache_hit_ratio = 2: must be 0..1\n"
            "read_bandwidth_required: cache_hit_ratio is given twice\n"
            "read_bandwidth_required: 'x': write INPUT=VALUE\n"
            "read_bandwidth_required: sample_rate_per_s is missing (1/s, at least 0/s)");
  EXPECT_EQ(refusal("F1", {"collective=all_reduc", "ranks_count=1.5"}),
            "busbw_factor: collective = all_reduc: must be all_reduce | all_gather | "
            "reduce_scatter | all_to_all | "
            "broadcast | reduce | send_recv; did you mean 'all_reduce'?\n"
            "busbw_factor: ranks_count = 1.5: must be a whole number, at least 1");
}

TEST(Output, NamesTheSourcesOfAFormula) {
  const auto named = sources_named_in(find_formula("F1")->source);
  ASSERT_EQ(named.size(), 1u);  // "NCCL-T" does not name "NCCL"
  EXPECT_EQ(named.front().word, "NCCL-T");
}

TEST(Output, EveryFormulaIsAJsonDocument) {
  EXPECT_EQ(nlohmann::json::parse(formulas_json())["formulas"].size(), 124u);
  for (const Formula& f : all_formulas()) EXPECT_EQ(nlohmann::json::parse(formula_json(f))["id"], f.id);
}

TEST(Output, ThePageHasEveryFormula) {
  const std::string page = formulas_markdown();
  for (const Formula& f : all_formulas())
    EXPECT_NE(page.find("### " + std::string(f.id) + " "), std::string::npos) << f.id;
}

}  // namespace
}  // namespace headrace::job::formula_output_test
