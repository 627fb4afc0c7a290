#include "harness/bringup/hand_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"

namespace headrace::bringup {
namespace {

/// Why a node is bad, in a few of our own words: "rate, resent".
std::string reason_of(const Record& record, unsigned node) {
  std::vector<std::string> words;
  for (const Told& one : record.faults)
    if ((one.fault.scope == Finding::Scope::node || one.fault.scope == Finding::Scope::nic) && one.fault.a == node) {
      for (const Quality quality : one.fault.in) words.emplace_back(to_string(quality));
      if (one.fault.scope == Finding::Scope::nic) words.push_back("of " + one.subject);
    }
  for (const Difference& one : record.nodes[node].differences)
    if (one.fault) words.push_back(one.what);
  return "headrace: " + (words.empty() ? "no connections" : join(words));
}

std::vector<std::string> names_of(const Record& record, const std::vector<unsigned>& nodes) {
  std::vector<std::string> names;
  for (const unsigned node : nodes) names.push_back(record.nodes[node].host.name);
  return names;
}

bool drains(const NodeRecord& node) { return node.state == NodeState::confirmed; }
bool resumes(const NodeRecord& node) { return node.state == NodeState::retested; }

std::string tainted(const std::vector<std::string>& names, const char* taint) {
  return fmt::format("kubectl taint nodes {} {}", join(names, " "), taint);
}

std::string gauge(std::string_view name, std::string_view help) {
  return fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
}

std::string test_case(const std::string& suite, const std::string& name, const std::string& result) {
  return fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\">{}</testcase>\n", suite, xml_escaped(name),
                     result);
}

}  // namespace

std::string compressed(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  std::map<std::pair<std::string, std::size_t>, std::vector<std::uint64_t>> numbered;  // by prefix and digits
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    const std::size_t end = name.find_last_not_of("0123456789") + 1;
    const std::size_t digits = name.size() - end;
    if (end == 0 || digits == 0 || digits > 18)
      parts.push_back(name);
    else
      numbered[{name.substr(0, end), digits}].push_back(std::stoull(name.substr(end)));
  }
  // Numbers that begin with no zero belong together, however long they are.
  std::map<std::string, std::vector<std::string>> ranges;
  for (const auto& one : numbered) {
    const auto& [prefix, digits] = one.first;
    const std::vector<std::uint64_t>& numbers = one.second;
    for (std::size_t i = 0; i < numbers.size();) {
      std::size_t last = i;
      while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
      std::string range = fmt::format("{:0{}}", numbers[i], digits);
      if (last > i) range += fmt::format("-{:0{}}", numbers[last], digits);
      ranges[prefix].push_back(std::move(range));
      i = last + 1;
    }
  }
  for (const auto& [prefix, of] : ranges)
    parts.push_back(of.size() == 1 && of.front().find('-') == std::string::npos
                        ? prefix + of.front()
                        : fmt::format("{}[{}]", prefix, join(of, ",")));
  std::sort(parts.begin(), parts.end());
  return join(parts, ",");
}

Commands commands_for(const Record& record, Scheduler scheduler) {
  Commands commands;
  std::map<std::string, std::vector<unsigned>> by_reason;
  std::vector<unsigned> back;
  for (unsigned node = 0; node < record.nodes.size(); ++node) {
    if (drains(record.nodes[node])) {
      commands.nodes.push_back(node);
      by_reason[reason_of(record, node)].push_back(node);
    }
    if (resumes(record.nodes[node])) back.push_back(node);
  }
  if (scheduler == Scheduler::slurm) {
    for (const auto& [reason, nodes] : by_reason)
      commands.drain.push_back(fmt::format("scontrol update nodename={} state=drain reason={}",
                                           shell_word(compressed(names_of(record, nodes))), shell_word(reason)));
    if (!back.empty())
      commands.resume.push_back(
          fmt::format("scontrol update nodename={} state=resume", shell_word(compressed(names_of(record, back)))));
  } else {
    if (!commands.nodes.empty())
      commands.drain.push_back(tainted(names_of(record, commands.nodes), "headrace=bad:NoSchedule --overwrite"));
    if (!back.empty()) commands.resume.push_back(tainted(names_of(record, back), "headrace=bad:NoSchedule-"));
  }
  return commands;
}

std::string junit_xml(const Record& record) {
  std::string cases;
  unsigned tests = 0, failures = 0, errors = 0;
  for (unsigned node = 0; node < record.nodes.size(); ++node) {
    const NodeRecord& one = record.nodes[node];
    std::string result;
    for (const Told& told : record.faults)
      if ((told.fault.scope == Finding::Scope::node || told.fault.scope == Finding::Scope::nic) && told.fault.a == node)
        result += fmt::format("<failure type=\"{}\" message=\"{}\"/>", xml_escaped(told.scope),
                              xml_escaped(told.text + ". Next: " + told.fix));
    const bool bad = one.state == NodeState::confirmed || one.state == NodeState::drained;
    if (result.empty() && bad) result = "<failure type=\"node\" message=\"was confirmed, and not tested again\"/>";
    failures += !result.empty();
    if (result.empty() && one.missing) {
      result = fmt::format("<error type=\"missing\" message=\"{}\"/>", xml_escaped(one.missing.why));
      ++errors;
    } else if (result.empty() && (one.state == NodeState::suspect || one.state == NodeState::fresh)) {
      result = "<error type=\"inconclusive\" message=\"what was measured does not decide it\"/>";
      ++errors;
    }
    ++tests;
    cases += test_case("node", one.host.name, result);
  }
  for (const Told& told : record.faults) {
    if (told.fault.scope == Finding::Scope::node || told.fault.scope == Finding::Scope::nic) continue;
    ++tests;
    ++failures;
    cases += test_case(told.scope, told.subject,
                       fmt::format("<failure type=\"{}\" message=\"{}\"/>", xml_escaped(told.scope),
                                   xml_escaped(told.text + ". Next: " + told.fix)));
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\"", tests, failures, errors);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"headrace bringup\" {}>\n  <testsuite "
      "name=\"bringup\" {}>\n{}  </testsuite>\n</testsuites>\n",
      counts, counts, cases);
}

std::string prometheus_text(const Record& record) {
  std::string out = gauge("headrace_bringup_node", "1 for each node, with the state that it is in.");
  for (const NodeRecord& one : record.nodes)
    out += fmt::format("headrace_bringup_node{{node=\"{}\",state=\"{}\",missing=\"{}\"}} 1\n",
                       prometheus_label(one.host.name), to_string(one.state), one.missing ? "yes" : "no");
  out +=
      gauge("headrace_bringup_fault", "Share of the rate that a bad part loses; 0 where it is bad in something else.");
  std::set<std::string> said;
  for (const Told& one : record.faults)
    if (said.insert(one.title()).second)
      out += fmt::format("headrace_bringup_fault{{scope=\"{}\",subject=\"{}\"}} {}\n", prometheus_label(one.scope),
                         prometheus_label(one.subject), one.loss);
  out += gauge("headrace_bringup_exit_code", "Exit code of the bring-up.");
  return out + fmt::format("headrace_bringup_exit_code {}\n", exit_code(record.word, record.signal));
}

}  // namespace headrace::bringup
