#include "harness/bringup/judge_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/bringup/hand_over.h"

namespace headrace::bringup {
namespace {

Told told(const char* scope, std::string subject, std::string text, std::string fix) {
  Told one;
  one.fault.scope = Finding::Scope::shared;
  one.scope = scope;
  one.subject = std::move(subject);
  one.text = std::move(text);
  one.fix = std::move(fix);
  return one;
}

}  // namespace

GroupsJudged judge_groups(const Record& record) {
  GroupsJudged judged;
  if (record.sessions.empty()) return judged;
  for (const GroupRun& run : record.sessions.back().groups) {
    std::vector<std::string> names;
    for (const unsigned node : run.nodes) names.push_back(record.nodes[node].host.name);
    if (!run.why.empty())
      judged.faults.push_back(told("group", compressed(names), fmt::format("{}: {}", run.what, run.why),
                                   "the other groups worked: start it by hand over these nodes, with fewer of them"));
    for (const LoadPhase& one : run.phases) {
      if (one.outcome == to_string(Outcome::fail))
        judged.faults.push_back(told("storage", record.measuring.at,
                                     fmt::format("{}, {} nodes at once: {}", one.title, one.clients, one.explanation),
                                     one.next_step.empty() ? "headrace size tells what would help" : one.next_step));
      judged.undecided = judged.undecided || one.outcome == to_string(Outcome::inconclusive);
    }
  }
  return judged;
}

}  // namespace headrace::bringup
