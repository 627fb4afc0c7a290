// JUnit: one suite per workload, one case per need, so that continuous integration shows verdicts
// as test results.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "harness/results/escape.h"
#include "harness/results/parts.h"
#include "harness/results/result_store.h"

namespace headrace::results {
namespace {

std::string property(std::string_view name, std::string_view value) {
  return fmt::format("        <property name=\"{}\" value=\"{}\"/>\n", name, xml_escaped(value));
}

std::string number(double value) { return fmt::format("{}", value); }

std::string properties(const Judgement& j) {
  std::string out = "      <properties>\n";
  out += property("outcome", headrace::to_string(j.outcome));
  if (j.reason != Reason::none) out += property("reason", headrace::to_string(j.reason));
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
  return xml_escaped(j.next_step.empty() ? j.explanation
                                         : fmt::format("{} Next: {}", j.explanation, j.next_step));
}

std::string result(const Judgement& j) {
  switch (j.outcome) {
    case Outcome::pass:
      return "";
    case Outcome::fail:
      return fmt::format("      <failure type=\"need\" message=\"{}\"/>\n", message(j));
    case Outcome::error:
      return fmt::format("      <error type=\"error\" message=\"{}\"/>\n", message(j));
    case Outcome::inconclusive:
      return fmt::format("      <error type=\"inconclusive\" message=\"{}: {}\"/>\n",
                         headrace::to_string(j.reason), message(j));
    case Outcome::skipped:
      return fmt::format("      <skipped message=\"{}\"/>\n", message(j));
  }
  return "";
}

struct Suite {
  std::string cases;
  unsigned tests = 0, failures = 0, errors = 0, skipped = 0;

  void add(const Judgement& j, const std::string& name, double seconds) {
    ++tests;
    failures += j.outcome == Outcome::fail;
    errors += j.outcome == Outcome::error || j.outcome == Outcome::inconclusive;
    skipped += j.outcome == Outcome::skipped;
    cases += fmt::format(
        "    <testcase classname=\"{}\" name=\"{} ({})\" time=\"{:.3f}\">\n{}{}    </testcase>\n",
        xml_escaped(name), xml_escaped(j.id), xml_escaped(j.scope), seconds, properties(j),
        result(j));
  }
};

}  // namespace

std::string junit_xml(const RunResult& run) {
  std::map<std::string, Suite> suites;
  for (const Judgement& j : run.judgements) {
    std::string workload = "not measured";
    double seconds = 0;
    for (const PointResult& p : run.points) {
      if (p.point->id != j.point) continue;
      workload = p.point->info->name;
      seconds = p.elapsed_s;
    }
    suites[workload].add(j, workload, seconds);
  }
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
        xml_escaped(name), s.tests, s.failures, s.errors, s.skipped, xml_escaped(node_name(run)),
        xml_escaped(run.started_utc.substr(0, 19)), s.cases);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n{}"
      "</testsuites>\n",
      xml_escaped(run.plan->name), total.tests, total.failures, total.errors, total.skipped,
      run.elapsed_s, body);
}

}  // namespace headrace::results
