#include "harness/bringup/blame/judge_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/units.h"
#include "harness/bringup/blame/slower_groups.h"
#include "harness/bringup/hand_over.h"
#include "harness/judge/statistics/robust.h"

namespace headrace::bringup {
namespace {

NamedFault describe(const char* scope, std::string subject, std::string text, std::string fix) {
  NamedFault one;
  one.fault.scope = Finding::Scope::shared;
  one.scope = scope;
  one.subject = std::move(subject);
  one.text = std::move(text);
  one.fix = std::move(fix);
  return one;
}

/// The rates of pairs within a group in this session, as a share of the usual one.
std::string pairs_of(const Record& record, const std::vector<unsigned>& nodes) {
  const auto in = [&](unsigned node) { return std::find(nodes.begin(), nodes.end(), node) != nodes.end(); };
  std::vector<double> shares;
  const PairMeasured* slowest = nullptr;
  double least = 0;
  for (const RoundRecord& round : record.sessions.back().rounds)
    for (const PairMeasured& one : round.pairs) {
      if (!in(one.a) || !in(one.b) || one.rail >= record.usual_rate.size() || record.usual_rate[one.rail] <= 0)
        continue;
      shares.push_back(one.slower() / record.usual_rate[one.rail]);
      if (slowest != nullptr && shares.back() >= least) continue;
      slowest = &one;
      least = shares.back();
    }
  if (slowest == nullptr) return "none of its pairs was measured in this session";
  return fmt::format(
      "its pairs alone: {} measured, {:.0f} % of the usual rate in the middle, {:.0f} % at least ({} to {})",
      shares.size(), 100 * statistics::robust(shares).median, 100 * least, record.nodes[slowest->a].host.name,
      record.nodes[slowest->b].host.name);
}

/// A node that could take no part in a run on several hosts, once for all such runs.
void name_left_out(const Record& record, const GroupRun& run, std::vector<NamedFault>& faults) {
  const unsigned node = run.nodes.front();
  const std::string text = fmt::format("cannot take part in {}: {}", run.what, run.why);
  const auto known =
      std::find_if(faults.begin(), faults.end(), [&](const NamedFault& one) { return one.of_node(node); });
  if (known != faults.end()) {
    known->text += "; " + text;
    return;
  }
  const std::string& name = record.nodes[node].host.name;
  NamedFault one = describe("node", name, text, fmt::format("repair that on the node; then --retest {}", name));
  one.fault = {Finding::Scope::node, node, 0, 0, 0, {}};
  one.brief = run.what;
  faults.push_back(std::move(one));
}

/// Nodes that came to no end together, or to no right one.
void name_failed(const Record& record, const GroupRun& run, std::vector<NamedFault>& faults) {
  const auto& groups = record.sessions.back().groups;
  const bool others_worked = std::any_of(
      groups.begin(), groups.end(), [&](const GroupRun& other) { return other.what == run.what && other.why.empty(); });
  faults.push_back(describe("group", compressed(record.names_of(run.nodes)), fmt::format("{}: {}", run.what, run.why),
                            others_worked
                                ? "the other groups worked: start it by hand on these nodes, then on fewer of them"
                                : "no group worked: look at what all nodes share, such as the interfaces that MPI "
                                  "uses, firewalls between the nodes, and their software"));
}

/// Groups that were slower than others in the same, twice.
std::vector<NamedFault> slower_twice(const Record& record) {
  std::vector<GroupRun> first, again;
  for (const GroupRun& one : record.sessions.back().groups)
    if (one.phases.empty()) (one.again ? again : first).push_back(one);
  std::vector<NamedFault> all;
  for (const SlowerGroup& then : slower_groups(again)) {
    const GroupRun& group = again[then.group];
    const GroupValue& value = group.values[then.value];
    for (const SlowerGroup& before : slower_groups(first)) {
      const GroupValue& known = first[before.group].values[before.value];
      if (first[before.group].nodes != group.nodes || known.point != value.point || known.metric != value.metric)
        continue;
      const std::string subject = compressed(record.names_of(group.nodes));
      const std::string text =
          fmt::format("{} {}, and {} before, usually {} ({} other groups of {} nodes)", value.point,
                      format_in_unit(value.value, value.unit), format_in_unit(known.value, known.unit),
                      format_in_unit(then.usual, value.unit), then.others, group.nodes.size());
      if (!all.empty() && all.back().subject == subject) {
        all.back().text = fmt::format("{}; {}", text, all.back().text);
        all.back().loss = std::max(all.back().loss, then.loss);
        continue;
      }
      all.push_back(
          describe("group", subject, fmt::format("{}; {}", text, pairs_of(record, group.nodes)),
                   "each pair of it may be healthy. Check the uplinks of their switch and its counters while all "
                   "send at once. Then measure with another order in the hosts file"));
      all.back().loss = then.loss;
    }
  }
  return all;
}

}  // namespace

GroupsJudged judge_groups(const Record& record) {
  GroupsJudged judged;
  if (record.sessions.empty()) return judged;
  const std::vector<GroupRun>& groups = record.sessions.back().groups;
  for (const GroupRun& run : groups) {
    if (!run.why.empty())
      run.nodes.size() == 1 ? name_left_out(record, run, judged.faults) : name_failed(record, run, judged.faults);
    for (const LoadPhase& one : run.phases) {
      if (one.outcome == to_string(Outcome::fail))
        judged.faults.push_back(
            describe("storage", record.measuring.at,
                     fmt::format("{}, {} nodes at once: {}", one.title, one.clients, one.explanation),
                     one.next_step.empty() ? "headrace size lists what would help" : one.next_step));
      judged.undecided = judged.undecided || one.outcome == to_string(Outcome::inconclusive);
    }
  }
  for (NamedFault& one : slower_twice(record)) judged.faults.push_back(std::move(one));
  return judged;
}

}  // namespace headrace::bringup
