// JUnit: one suite per workload, one case per need, so that continuous integration shows verdicts as test results.
// Another failure is a case of its own: no failed run is green.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "harness/base/escape.h"
#include "harness/results/exports.h"

namespace headrace::results {
namespace {

std::string property(std::string_view name, std::string_view value) {
  return fmt::format("        <property name=\"{}\" value=\"{}\"/>\n", name, xml_escaped(value));
}

std::string number(double value) { return fmt::format("{}", value); }

std::string properties(const Judgement& j) {
  std::string out = "      <properties>\n";
  out += property("outcome", to_string(j.outcome));
  if (j.reason != Reason::none) out += property("reason", std::string(to_string(j.reason)));
  out += property("direction", j.higher_is_better ? "at_least" : "at_most");
  out += property("required", number(j.required));
  out += property("need", number(j.need));
  out += property("unit", j.unit);
  if (j.measured) out += property("measured", number(*j.measured));
  if (j.low) out += property("low", number(*j.low));
  if (j.high) out += property("high", number(*j.high));
  if (j.headroom) out += property("headroom", number(*j.headroom));
  if (!j.point.empty()) out += property("point", j.point);
  return out + "      </properties>\n";
}

std::string message(const Judgement& j) {
  return xml_escaped(j.next_step.empty() ? j.explanation : fmt::format("{} Next: {}", j.explanation, j.next_step));
}

std::string inconclusive_result(const Judgement& j, JunitInconclusive as) {
  const std::string words = xml_escaped(to_string(j.reason)) + ": " + message(j);
  switch (as) {
    case JunitInconclusive::failure:
      return fmt::format("      <failure type=\"inconclusive\" message=\"{}\"/>\n", words);
    case JunitInconclusive::skipped:
      return fmt::format("      <skipped message=\"inconclusive: {}\"/>\n", words);
    case JunitInconclusive::error:
      break;
  }
  return fmt::format("      <error type=\"inconclusive\" message=\"{}\"/>\n", words);
}

std::string result(const Judgement& j, JunitInconclusive inconclusive) {
  if (j.outcome == Outcome::fail) return fmt::format("      <failure type=\"need\" message=\"{}\"/>\n", message(j));
  if (j.outcome == Outcome::error) return fmt::format("      <error type=\"error\" message=\"{}\"/>\n", message(j));
  if (j.outcome == Outcome::inconclusive) return inconclusive_result(j, inconclusive);
  if (j.outcome == Outcome::skipped) return fmt::format("      <skipped message=\"{}\"/>\n", message(j));
  return "";
}

struct Suite {
  std::string cases;
  unsigned tests = 0, failures = 0, errors = 0, skipped = 0;

  void add(const Judgement& j, const std::string& name, double seconds, JunitInconclusive as) {
    const bool open = j.outcome == Outcome::inconclusive;
    ++tests;
    failures += j.outcome == Outcome::fail || (open && as == JunitInconclusive::failure);
    errors += j.outcome == Outcome::error || (open && as == JunitInconclusive::error);
    skipped += j.outcome == Outcome::skipped || (open && as == JunitInconclusive::skipped);
    cases +=
        fmt::format("    <testcase classname=\"{}\" name=\"{} ({})\" time=\"{:.3f}\">\n{}{}    </testcase>\n",
                    xml_escaped(name), xml_escaped(j.id), xml_escaped(j.scope), seconds, properties(j), result(j, as));
  }

  /// Errors that no need reports.
  void add_error(std::string_view workload, std::string_view name, double seconds, std::string_view message) {
    ++tests;
    ++errors;
    cases += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n"
        "      <error type=\"error\" message=\"{}\"/>\n    </testcase>\n",
        xml_escaped(workload), xml_escaped(name), seconds, xml_escaped(message));
  }
};

std::string junit_xml(const StoredRun& run, JunitInconclusive inconclusive) {
  std::map<std::string, Suite> suites;
  for (const Judgement& j : run.judgements) {
    const StoredPoint* point = run.find(j.point);
    const std::string workload = point ? point->workload : "not measured";
    suites[workload].add(j, workload, point ? point->elapsed_s : 0, inconclusive);
  }
  for (const StoredPoint& point : run.points) {
    const bool reported = std::ranges::any_of(
        run.judgements, [&](const Judgement& j) { return j.outcome == Outcome::error && j.point == point.id; });
    if (point.status == "error" && !reported)
      suites[point.workload].add_error(point.workload, point.id, point.elapsed_s, point.reason);
  }
  if (run.signal != 0)
    suites["run"].add_error("run", run.name, run.elapsed_s, fmt::format("ended by signal {}", run.signal));
  Suite total;
  std::string body;
  for (const auto& [name, s] : suites) {
    total.tests += s.tests;
    total.failures += s.failures;
    total.errors += s.errors;
    total.skipped += s.skipped;
    body += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
        "hostname=\"{}\" "
        "timestamp=\"{}\">\n{}  </testsuite>\n",
        xml_escaped(name), s.tests, s.failures, s.errors, s.skipped, xml_escaped(run.node),
        xml_escaped(run.started_utc.substr(0, 19)), s.cases);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n{}"
      "</testsuites>\n",
      xml_escaped(run.name), total.tests, total.failures, total.errors, total.skipped, run.elapsed_s, body);
}

const RegisterExport junit_registered{
    30,
    {"junit", "junit.xml",
     [](const StoredRun& run, const ExportOptions& options) { return junit_xml(run, options.inconclusive); },
     "\n<testsuites name=\""}};

}  // namespace
}  // namespace headrace::results
