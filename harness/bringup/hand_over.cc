#include "harness/bringup/hand_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"
#include "harness/bringup/blame/fault_words.h"
#include "harness/bringup/blame/unreached.h"

namespace headrace::bringup {
namespace {

/// Why a node is bad, in a few of our own words: "rate, resent".
std::string reason_of(const Record& record, unsigned node) {
  std::vector<std::string> words;
  if (record.nodes[node].state == NodeState::flapping) return "headrace: flapping";
  for (const NamedFault& one : record.faults)
    if (one.of_node(node)) {
      for (const Quality quality : one.fault.in) words.emplace_back(to_string(quality));
      if (!one.brief.empty()) words.push_back(one.brief);
      if (one.fault.scope == Finding::Scope::nic) words.push_back("of " + one.subject);
    }
  for (const Difference& one : record.nodes[node].differences)
    if (one.fault) words.push_back(one.what);
  return "headrace: " + (words.empty() ? "bad in an earlier session" : join(words));
}

std::vector<std::string> shell_words(std::vector<std::string> names) {
  for (std::string& name : names) name = shell_word(name);
  return names;
}

std::string first_label(const std::string& name) { return name.substr(0, name.find('.')); }

/// Slurm mostly has short names, and Kubernetes those of the hosts file.
std::string slurm_name(const Record& record, const NodeRecord& node) {
  const std::string& name = node.host.name;
  const std::string label = first_label(name);
  const bool is_one = std::ranges::count(record.nodes, label,
                                         [](const NodeRecord& other) { return first_label(other.host.name); }) == 1;
  return is_one && node.facts && first_label(node.facts->host) == label ? label : name;
}

/// The name that the host has for itself; "" where others call themselves so, too.
std::string own_name(const Record& record, const NodeRecord& node) {
  if (!node.facts) return "";
  const std::string& own = node.facts->host;
  const auto has_it = [&](const NodeRecord& other) {
    return other.facts && !other.missing.duplicate && is_same_host(other.facts->host, own);
  };
  return std::ranges::count_if(record.nodes, has_it) == 1 ? own : "";
}

/// Schedulers know hosts by the names that these have for themselves; a hosts file may have addresses.
std::vector<std::string> scheduler_names(const Record& record, std::span<const unsigned> nodes, Scheduler scheduler) {
  std::vector<std::string> names;
  for (const unsigned node : nodes) {
    const NodeRecord& one = record.nodes[node];
    const std::string own = is_address(one.host.name) ? own_name(record, one) : "";
    if (!own.empty())
      names.push_back(own);
    else
      names.push_back(scheduler == Scheduler::slurm ? slurm_name(record, one) : one.host.name);
  }
  return names;
}

/// Is its only fault perhaps an error of the hosts file? Then no other host has the interfaces that it names.
bool may_be_misnamed(const Record& record, unsigned node) {
  const Host& host = record.nodes[node].host;
  const auto alike = [&](const NodeRecord& one) { return one.host.rails == host.rails && one.host.rdma == host.rdma; };
  if (std::ranges::count_if(record.nodes, alike) > 1) return false;
  if (std::ranges::any_of(record.nodes[node].differences, &Difference::fault)) return false;
  const auto of_node = [&](const NamedFault& one) { return one.of_node(node); };
  const auto other = [&](const NamedFault& one) { return one.of_node(node) && one.brief != kFailsByItself; };
  return std::ranges::any_of(record.faults, of_node) && std::ranges::none_of(record.faults, other);
}

bool drains(const NodeRecord& node) { return is_bad(node.state) && node.state != NodeState::drained; }
/// No node heard from it. Where that is half of all nodes, it is more likely that the launcher is wrong.
bool is_down(const Record& record, const NodeRecord& node) {
  return node.missing.unreachable && !is_bad(node.state) && 2 * record.missing() < record.nodes.size();
}
/// Another session can meet it. A second name of a machine never takes part.
bool is_away(const NodeRecord& node) { return node.missing && !node.missing.duplicate; }
bool is_undecided(const NodeRecord& node) {
  return !node.missing.duplicate && (node.state == NodeState::suspect || node.state == NodeState::fresh);
}
bool resumes(const NodeRecord& node) { return node.state == NodeState::retested; }

std::string tainted(const std::vector<std::string>& names, const char* taint) {
  return fmt::format("kubectl taint nodes {} {}", join(shell_words(names), " "), taint);
}

std::vector<std::string> resuming(const Record& record, const std::vector<unsigned>& nodes, Scheduler scheduler) {
  if (nodes.empty()) return {};
  const std::vector<std::string> names = scheduler_names(record, nodes, scheduler);
  if (scheduler == Scheduler::kubernetes) return {tainted(names, "headrace=bad:NoSchedule-")};
  return {fmt::format("scontrol update nodename={} state=resume", shell_word(compressed(names)))};
}

std::string gauge(std::string_view name, std::string_view help) {
  return fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
}

std::string test_case(const std::string& suite, const std::string& name, const std::string& result) {
  return fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\">{}</testcase>\n", suite, xml_escaped(name),
                     result);
}

}  // namespace

std::vector<std::string> Commands::all_resume() const {
  std::vector<std::string> all = resume;
  all.insert(all.end(), resume_others.begin(), resume_others.end());
  return all;
}

Commands commands_for(const Record& record, Scheduler scheduler) {
  Commands commands;
  std::map<std::string, std::vector<unsigned>> by_reason;
  std::vector<unsigned> back, others, down;
  for (unsigned node = 0; node < record.nodes.size(); ++node) {
    if (is_down(record, record.nodes[node])) {
      commands.nodes.push_back(node);
      down.push_back(node);
    } else if (drains(record.nodes[node]) && !may_be_misnamed(record, node)) {
      commands.nodes.push_back(node);
      by_reason[reason_of(record, node)].push_back(node);
    }
    if (resumes(record.nodes[node])) (record.nodes[node].taken_out ? back : others).push_back(node);
  }
  if (!record.simulated.empty()) return commands;  // not real nodes
  commands.resume = resuming(record, back, scheduler);
  commands.resume_others = resuming(record, others, scheduler);
  if (scheduler == Scheduler::slurm) {
    for (const auto& [reason, nodes] : by_reason)
      commands.drain.push_back(fmt::format("scontrol update nodename={} state=drain reason={}",
                                           shell_word(compressed(scheduler_names(record, nodes, scheduler))),
                                           shell_word(reason)));
    if (!down.empty())
      commands.drain.push_back(fmt::format("scontrol update nodename={} state=down reason={}",
                                           shell_word(compressed(scheduler_names(record, down, scheduler))),
                                           shell_word("headrace: unreachable")));
  } else if (!commands.nodes.empty()) {
    commands.drain.push_back(
        tainted(scheduler_names(record, commands.nodes, scheduler), "headrace=bad:NoSchedule --overwrite"));
  }
  return commands;
}

std::vector<Step> next_steps(const Record& record) {
  std::vector<Step> steps;
  if (record.running || record.again.empty()) return steps;
  const std::string resume = record.again + " --resume";
  // Without --hosts the stored rails, addresses and hosts stay.
  const std::string file = " --hosts " + (record.hosts_file.empty() ? "FILE" : shell_word(record.hosts_file));
  if (record.signal != 0)
    steps.push_back({"it was interrupted", resume});
  else if (std::ranges::any_of(record.nodes, is_away))
    steps.push_back({"when missing nodes are back", resume});
  else if (std::any_of(record.faults.begin(), record.faults.end(),
                       [](const NamedFault& one) { return one.scope == "network"; }))
    steps.push_back({"when hosts can connect to one another", resume});
  else if (!record.doubt.empty()) {
    steps.push_back({"compare the usual rate with the line rate of each node", "headrace doctor --expect"});
    steps.push_back(
        {"or add sound nodes, or the switch= that nodes share, to the hosts file", record.again + file + " --resume"});
  } else if (record.nodes.size() < FaultWords::kFewestNodes && std::ranges::any_of(record.nodes, is_undecided))
    steps.push_back({"add hosts: fewer than four cannot be decided", record.again + file + " --resume"});
  else if (std::ranges::any_of(record.nodes, is_undecided))
    steps.push_back({"more rounds for undecided nodes", resume});
  std::string bad;
  bool misnamed = false;
  for (unsigned node = 0; node < record.nodes.size(); ++node)
    if (is_bad(record.nodes[node].state)) {
      bad += " " + record.nodes[node].host.name;
      misnamed = misnamed || may_be_misnamed(record, node);
    }
  if (bad.empty() || record.signal != 0) return steps;
  const auto accepted = [](const NodeRecord& node) { return is_accepted(node.state); };
  if (std::ranges::any_of(record.nodes, accepted))
    steps.push_back({"after the repair", record.again + (misnamed ? file : "") + " --retest" + bad});
  else
    steps.push_back({"after the repair", record.again + file + " --resume"});
  return steps;
}

std::string why_undecided(const Record& record) {
  if (!record.doubt.empty()) return "the usual rate may be that of slow nodes";
  if (record.nodes.size() < FaultWords::kFewestNodes) return "fewer than four nodes have no baseline";
  return "too few measurements to decide";
}

std::vector<std::pair<std::string, std::string>> nodes_by_state(const Record& record) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto list = [&](std::string_view word, const auto& belongs) {
    std::vector<std::string> names;
    for (const NodeRecord& node : record.nodes)
      if (belongs(node)) names.push_back(node.host.name);
    if (!names.empty()) all.emplace_back(word, compressed(std::move(names)));
  };
  for (const NodeState state : kNodeStates)
    list(to_string(state), [&](const NodeRecord& node) { return node.word() == to_string(state); });
  list("missing", [](const NodeRecord& node) { return node.word() == "missing"; });
  return all;
}

std::string junit_xml(const Record& record) {
  std::string cases;
  unsigned tests = 0, failures = 0, errors = 0, skipped = 0;
  for (unsigned node = 0; node < record.nodes.size(); ++node) {
    const NodeRecord& one = record.nodes[node];
    std::string result;
    for (const NamedFault& reported : record.faults)
      if (reported.of_node(node))
        result += fmt::format("<failure type=\"{}\" message=\"{}\"/>", xml_escaped(reported.scope),
                              xml_escaped(reported.text + ". Next: " + reported.fix));
    if (result.empty() && drains(one))
      result = fmt::format("<failure type=\"node\" message=\"was {}, and not tested again\"/>", to_string(one.state));
    failures += !result.empty();
    if (result.empty() && one.state == NodeState::drained) {
      result = "<skipped message=\"is drained, and was not tested again\"/>";
      ++skipped;
    } else if (result.empty() && one.missing) {
      result = fmt::format("<error type=\"missing\" message=\"{}\"/>", xml_escaped(one.missing.why));
      ++errors;
    } else if (result.empty() && (one.state == NodeState::suspect || one.state == NodeState::fresh)) {
      result = fmt::format("<error type=\"inconclusive\" message=\"{}\"/>", why_undecided(record));
      ++errors;
    }
    ++tests;
    cases += test_case("node", one.host.name, result);
  }
  for (const NamedFault& reported : record.faults) {
    if (reported.of_a_node()) continue;
    ++tests;
    ++failures;
    cases += test_case(reported.scope, reported.subject,
                       fmt::format("<failure type=\"{}\" message=\"{}\"/>", xml_escaped(reported.scope),
                                   xml_escaped(reported.text + ". Next: " + reported.fix)));
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", tests, failures, errors, skipped);
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
  for (const NamedFault& one : record.faults)
    if (said.insert(one.title()).second)
      out += fmt::format("headrace_bringup_fault{{scope=\"{}\",subject=\"{}\"}} {}\n", prometheus_label(one.scope),
                         prometheus_label(one.subject), one.loss);
  out += gauge("headrace_bringup_exit_code", "Exit code of the bring-up.");
  return out + fmt::format("headrace_bringup_exit_code {}\n", exit_code(record.word, record.signal));
}

std::string findings_csv(const Record& record) {
  std::string csv = "scope,subject,rack,switch,state,in,loss,told\n";
  const auto line = [&](const std::string& scope, const std::string& subject, const Host& host, std::string_view state,
                        const std::vector<const NamedFault*>& faults, const std::string& missing) {
    std::vector<std::string> in, reported;
    double loss = 0;
    for (const NamedFault* one : faults) {
      for (const Quality quality : one->fault.in) in.emplace_back(to_string(quality));
      reported.push_back(one->text);
      loss = std::max(loss, one->loss);
    }
    if (!missing.empty()) reported.push_back("missing: " + missing);
    csv += fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(scope), csv_field(subject), csv_field(host.rack),
                       csv_field(host.leaf_switch), state, csv_field(join(in, " ")),
                       loss > 0 ? fmt::to_string(loss) : "", csv_field(join(reported, "; ")));
  };
  for (unsigned node = 0; node < record.nodes.size(); ++node) {
    std::vector<const NamedFault*> faults;
    for (const NamedFault& one : record.faults)
      if (one.of_node(node)) faults.push_back(&one);
    const NodeRecord& one = record.nodes[node];
    line("node", one.host.name, one.host, to_string(one.state), faults, one.missing.why);
  }
  for (const NamedFault& one : record.faults)
    if (!one.of_a_node()) line(one.scope, one.subject, {}, "bad", {&one}, "");
  return csv;
}

}  // namespace headrace::bringup
