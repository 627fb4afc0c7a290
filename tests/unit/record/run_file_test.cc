// Run files read back: the golden one whole, and everything that may be wrong reported plainly.
#include "harness/results/run_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/results/json_place.h"
#include "tests/unit/source_dir.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::results::run_file_test {
namespace {

const std::string kGolden = source_dir() + "/tests/golden/run.json";

std::string golden_text() {
  std::ifstream file(kGolden);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What is said of the golden file after `change`.
std::string problem(const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json document = nlohmann::json::parse(golden_text());
  change(document);
  try {
    parse_run(document.dump(), "run.json");
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

std::string problem_of_text(const std::string& text) {
  try {
    parse_run(text, "run.json");
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(RunFile, ReadsTheGoldenRun) {
  const StoredRun run = read_run_file(kGolden);
  EXPECT_EQ(run.id, "20260131-120000-golden");
  EXPECT_EQ(run.node, "node17");
  EXPECT_EQ(run.config_hash, "9f2c0001");
  EXPECT_EQ(run.summary.word, Outcome::fail);
  EXPECT_EQ(run.summary.exit_code, 10);
  EXPECT_EQ(run.job.at("dataset.sample_size"), "130000B");
  EXPECT_EQ(run.environment.at("kernel.release"), "6.1.0");
  EXPECT_EQ(run.judgements.at(0).metric, "scripted.read_bandwidth");
  const StoredPoint* point = run.find("scripted/engine:posix");
  ASSERT_NE(point, nullptr);
  EXPECT_EQ(point->params.at("engine"), "posix");
  EXPECT_EQ(point->params.at("workers"), "2");
  EXPECT_EQ(point->params.at("direct"), "false");
  EXPECT_EQ(point->params.at("think_time"), "0.25");
  EXPECT_EQ(point->params.at("cache"), "cold");
  const StoredMetric* bandwidth = point->find("read_bandwidth");
  ASSERT_NE(bandwidth, nullptr);
  EXPECT_EQ(bandwidth->median, 910e6);
  EXPECT_EQ(bandwidth->values.size(), 5u);
  EXPECT_EQ(bandwidth->better, Better::higher);
  EXPECT_GT(point->repetitions, 0u);
  ASSERT_FALSE(point->latency.empty());
  EXPECT_EQ(point->latency[0].phase, "main");
  EXPECT_EQ(point->latency[0].histogram.total() % 8000, 0u);
  EXPECT_EQ(point->find("nothing"), nullptr);
}

TEST(RunFile, ReadsAFolderAndAPage) {
  headrace::testing::TemporaryFolder folder;
  folder.write("run.json", golden_text());
  EXPECT_EQ(read_run_file(folder.path()).id, "20260131-120000-golden");
  std::string carried = nlohmann::json::parse(golden_text()).dump();
  for (std::size_t at; (at = carried.find('<')) != carried.npos;) carried.replace(at, 1, "\\u003c");
  folder.write("report.html",
               "<p>x</p><script type=\"application/json\" id=\"headrace-run\">" + carried + "</script></body>");
  EXPECT_EQ(read_run_file(folder / "report.html").points.size(), 2u);
  folder.write("other.html", "<p>x</p>");
  EXPECT_THROW(read_run_file(folder / "other.html"), UsageError);
  EXPECT_THROW(read_run_file(folder / "none"), UsageError);
}

TEST(RunFile, OtherSchemasAndKindsAreReportedFirst) {
  EXPECT_NE(problem([](auto& d) { d["schema"] = 2; }).find("schema 2: this headrace reads schema 1"),
            std::string::npos);
  EXPECT_NE(problem([](auto& d) {
              d["schema"] = "1";
              d["points"] = 3;
            }).find("schema \"1\""),
            std::string::npos);
  EXPECT_NE(problem([](auto& d) { d["kind"] = "headrace.fleet"; }).find("not a run file"), std::string::npos);
  EXPECT_NE(problem_of_text("[1, 2]").find("not a run file"), std::string::npos);
}

TEST(RunFile, AMissingOrMistypedKeyNamesItsPlace) {
  EXPECT_EQ(problem([](auto& d) { d["points"][0]["metrics"][0].erase("values"); }),
            "points[0].metrics[0].values: missing");
  EXPECT_EQ(problem([](auto& d) { d["points"][0]["metrics"][0]["values"][2] = "fast"; }),
            "points[0].metrics[0].values[2]: \"fast\": a number is expected");
  EXPECT_EQ(problem([](auto& d) { d["points"][0]["metrics"][0]["better"] = "more"; }),
            "points[0].metrics[0].better: 'more' is not one of: higher, lower, neither");
  EXPECT_EQ(problem([](auto& d) { d["run"]["node"] = 17; }), "run.node: 17: a text is expected");
  EXPECT_EQ(problem([](auto& d) { d["points"] = nlohmann::json::object(); }), "points: {}: a list is expected");
  EXPECT_EQ(problem([](auto& d) { d["points"][0]["params"]["x"] = {1}; }),
            "points[0].params.x: [1]: a text, number or truth value is expected");
  EXPECT_EQ(problem([](auto& d) {
              d["points"][0]["repetitions"][0]["phases"][0]["latency"]["buckets"] = {{5, 1}, {4, 1}};
            }),
            "points[0].repetitions[0].phases[0].latency.buckets[1]: buckets must ascend");
}

TEST(RunFile, NumbersThatContradictEachOtherAreReportedAsEdited) {
  EXPECT_NE(problem([](auto& d) {
              d["points"][0]["metrics"][0]["median"] = 2e9;
            }).find("points[0].metrics[0].median: 2000000000 is not the median of the values"),
            std::string::npos);
  EXPECT_NE(problem([](auto& d) {
              d["points"].push_back(d["points"][0]);
            }).find("points[2]: a second point 'scripted/engine:posix'"),
            std::string::npos);
}

TEST(RunFile, OnlyStrictJson) {
  EXPECT_EQ(problem_of_text(" \n"), "the file is empty");
  EXPECT_EQ(problem_of_text("{\"a\":\n NaN}"),
            "line 2, column 2: NaN is not a number: a run file holds only finite values");
  EXPECT_NE(problem_of_text("{\"a\": -Infinity}").find("-Infinity is not a number"), std::string::npos);
  EXPECT_EQ(problem_of_text("{\"a\": 1e999}"), "'1e999' is too large to be a number");
  EXPECT_EQ(problem_of_text("{\"a\": 1, \"a\": 2}"), "key \"a\" is twice in one object");
  EXPECT_NO_THROW(parse_json("{\"skip\": [{\"in\": {\"b\": 1}}], \"b\": {\"in\": 1}, \"in\": 2}", {"skip"}));
  EXPECT_THROW(parse_json("{\"skip\": [{\"in\": {\"b\": 1}}], \"b\": 1, \"b\": 2}", {"skip"}), UsageError);
  EXPECT_NO_THROW(parse_json(std::string(100, '[') + std::string(100, ']')));
  EXPECT_THROW(parse_json(std::string(1'000'000, '[')), UsageError)
      << "what is told of a value would need a deep stack";
  EXPECT_THROW(parse_json("{\"a\": " + std::string(200, '[') + std::string(200, ']') + "}"), UsageError);
  EXPECT_NE(problem_of_text("{\"a\": 1,}").find("line 1, column 9: not JSON"), std::string::npos)
      << problem_of_text("{\"a\": 1,}");
  EXPECT_NE(problem_of_text(std::string(100000, '[')).find("more than 100 deep"), std::string::npos);
  const std::string text = golden_text();
  for (const double share : {0.1, 0.5, 0.9, 0.999}) {
    const auto cut = text.substr(0, static_cast<std::size_t>(share * text.size()));
    EXPECT_NE(problem_of_text(cut).find("truncated"), std::string::npos) << share << ": " << problem_of_text(cut);
  }
}

}  // namespace
}  // namespace headrace::results::run_file_test
