// Comparisons as CSV and JUnit, and the folder they are written to.
#include <fmt/format.h>

#include "harness/analysis/comparison/output.h"
#include "harness/base/escape.h"
#include "harness/base/files/marked_folder.h"
#include "harness/results/parts.h"

namespace headrace::comparison {
namespace {
using statistics::Change;

std::string params_text(const Row& row) {
  std::string text;
  for (const auto& [key, value] : row.params) text += fmt::format("{}{}={}", text.empty() ? "" : ";", key, value);
  return text;
}

std::string pair_name(const Comparison& all, const Pair& pair) {
  return fmt::format("{} vs {}", all.sides[pair.other].label, all.sides[pair.base].label);
}

std::string junit_case(const std::string& suite, const Row& row) {
  std::string properties;
  const auto property = [&](std::string_view name, const std::string& value) {
    properties += fmt::format("        <property name=\"{}\" value=\"{}\"/>\n", name, xml_escaped(value));
  };
  property("status", std::string(to_string(row.change)));
  property("gated", row.gated ? "true" : "false");
  if (!row.says_same_as.empty()) property("says_same_as", row.says_same_as);
  if (row.reason != Reason::none) property("reason", std::string(headrace::to_string(row.reason)));
  if (row.estimate) {
    property("ratio", fmt::format("{}", row.estimate->ratio));
    property("low", fmt::format("{}", row.estimate->low));
    property("high", fmt::format("{}", row.estimate->high));
  }
  std::string result;
  if (row.gated && row.change == Change::worse)
    result = fmt::format("      <failure type=\"worse\" message=\"{}\"/>\n", xml_escaped(row.explanation));
  if (row.gated && row.change == Change::inconclusive)
    result = fmt::format("      <error type=\"inconclusive\" message=\"{}: {}\"/>\n", headrace::to_string(row.reason),
                         xml_escaped(row.explanation));
  return fmt::format(
      "    <testcase classname=\"{}\" name=\"{}.{}\">\n      <properties>\n{}      "
      "</properties>\n{}    </testcase>\n",
      xml_escaped(suite), xml_escaped(row.base_point), xml_escaped(row.metric), properties, result);
}

}  // namespace

std::string comparison_csv(const Comparison& all) {
  std::string out =
      "pair,workload,point,parameters,metric,unit,direction,gated,base,other,ratio,low,high,p,"
      "status,reason,says_same_as\r\n";
  for (const Pair& pair : all.pairs) {
    for (const Row& row : pair.rows) {
      out += fmt::format("{},{},{},{},{},{},{},{},{},{},", csv_field(pair_name(all, pair)), csv_field(row.workload),
                         csv_field(row.base_point), csv_field(params_text(row)), csv_field(row.metric),
                         csv_field(row.unit), results::to_string(row.better), row.gated, row.base.typical,
                         row.other.typical);
      out += row.estimate ? fmt::format("{},{},{},{},", row.estimate->ratio, row.estimate->low, row.estimate->high,
                                        row.estimate->p)
                          : ",,,,";
      out += fmt::format("{},{},{}\r\n", to_string(row.change), headrace::to_string(row.reason),
                         csv_field(row.says_same_as));
    }
  }
  return out;
}

std::string comparison_junit(const Comparison& all) {
  std::string suites;
  std::size_t tests = 0, failures = 0, errors = 0;
  for (const Pair& pair : all.pairs) {
    const std::string name = pair_name(all, pair);
    std::string cases;
    std::size_t failed = 0, open = 0, tests_here = pair.rows.size();
    for (const Row& row : pair.rows) {
      failed += row.gated && row.change == Change::worse;
      open += row.gated && row.change == Change::inconclusive;
      cases += junit_case(name, row);
    }
    for (const NotCompared& missing : pair.not_compared) {
      if (!missing.gated) continue;
      ++tests_here;
      ++open;
      cases += fmt::format(
          "    <testcase classname=\"{}\" name=\"{}.{}\">\n      <error type=\"incomplete\" "
          "message=\"{}\"/>\n    </testcase>\n",
          xml_escaped(name), xml_escaped(missing.point), xml_escaped(missing.metric.empty() ? "*" : missing.metric),
          xml_escaped(missing.why));
    }
    suites += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\">\n{}  "
        "</testsuite>\n",
        xml_escaped(name), tests_here, failed, open, cases);
    tests += tests_here;
    failures += failed;
    errors += open;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"headrace compare\" "
      "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\">\n{}</testsuites>\n",
      tests, failures, errors, suites);
}

void write_comparison(const Comparison& all, const MarkedFolder& folder) {
  const std::string json = comparison_json(all), csv = comparison_csv(all), junit = comparison_junit(all);
  const MarkedFolder::File files[] = {{"comparison.csv", csv}, {"junit.xml", junit}, {"comparison.json", json}};
  folder.write(files);
}

}  // namespace headrace::comparison
