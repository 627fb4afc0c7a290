// Nodes of like hardware and firmware, and how the levels of such groups differ.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "harness/analysis/fleet/state.h"
#include "harness/base/units.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::fleet {
namespace {

using statistics::kFewestAlike;

/// Firmware keeps a little more of the memory on one node than on the next.
constexpr double kAlikeMemory = 0.01;

/// "251.4 GiB" in bytes; 0 when it is not reported.
double memory_bytes(const std::string& text) {
  const Parsed parsed = parse_quantity(text, Dimension::bytes);
  return parsed ? parsed.value : 0;
}

bool near(double less, double more) { return more <= less * (1 + kAlikeMemory); }

using Facts = std::map<std::string, std::string>;

Facts facts(const NodeRun& run) {
  Facts all;
  std::istringstream lines(run.hardware);
  for (std::string line; std::getline(lines, line);)
    all[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
  if (!run.memory.empty()) all["memory.total"] = run.memory;
  return all;
}

std::vector<GroupDifference> differences(const NodeRun& own, const NodeRun& usual) {
  const Facts mine = facts(own), others = facts(usual);
  std::set<std::string> keys;
  for (const Facts* side : {&mine, &others})
    for (const auto& [key, value] : *side) keys.insert(key);
  const double a = memory_bytes(own.memory), b = memory_bytes(usual.memory);
  std::vector<GroupDifference> all;
  for (const std::string& key : keys) {
    const auto m = mine.find(key), o = others.find(key);
    const std::string value = m == mine.end() ? "" : m->second, other = o == others.end() ? "" : o->second;
    if (value == other || (key == "memory.total" && near(std::min(a, b), std::max(a, b)))) continue;
    all.push_back({key, value, other});
  }
  return all;
}

/// How the hardware is set up and driven, in contrast to its kind.
bool is_setup(const std::string& key) {
  for (const std::string_view part :
       {"firmware", "driver", "version", "scheduler", "options", "kernel.release", "file_system.type", "governor"})
    if (key.find(part) != key.npos) return true;
  return false;
}

}  // namespace

bool alike(const NodeRun& a, const NodeRun& b) {
  const double x = memory_bytes(a.memory), y = memory_bytes(b.memory);
  return a.hardware == b.hardware && near(std::min(x, y), std::max(x, y));
}

void make_groups(Work& work) {
  // By memory within the same hardware: a gap of more than a hundredth parts two groups.
  std::map<std::string, std::vector<std::pair<double, std::size_t>>> by_hardware;
  for (std::size_t i = 0; i < work.runs.size(); ++i)
    by_hardware[work.newest(i).hardware].emplace_back(memory_bytes(work.newest(i).memory), i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [hardware, members] : by_hardware) {
    std::sort(members.begin(), members.end());
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (m == 0 || !near(members[m - 1].first, members[m].first)) groups.emplace_back();
      groups.back().push_back(members[m].second);
    }
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (const std::vector<std::size_t>& members : groups) {
    Group group;
    group.id = fmt::format("g{}", work.fleet.groups.size() + 1);
    group.nodes = members.size();
    group.judged = members.size() >= kFewestAlike;
    const bool alone = members.size() == 1;
    if (!group.judged)
      group.why = fmt::format(
          "only {} node{} this hardware and firmware; a baseline needs {}, so {} compared with {} needs only",
          members.size(), alone ? " has" : "s have", kFewestAlike, alone ? "it is" : "they are",
          alone ? "its" : "their");
    group.differs = differences(work.newest(members.front()), work.newest(groups[0].front()));
    for (const std::size_t i : members) work.fleet.nodes[i].group = work.fleet.groups.size();
    work.fleet.groups.push_back(std::move(group));
  }
}

void compare_groups(Work& work, std::size_t metric, const std::vector<std::vector<Valued>>& of_groups) {
  const ComparedMetric& key = work.fleet.metrics[metric];
  if (of_groups.empty() || of_groups[0].size() < kFewestAlike) return;
  for (std::size_t g = 1; g < of_groups.size(); ++g) {
    Group& group = work.fleet.groups[g];
    if (!group.judged || of_groups[g].size() < kFewestAlike) continue;
    const double usual = median_of(of_groups[0]), level = median_of(of_groups[g]);
    const bool is_worse = worse_by(key, level, usual) >= key.delta,
               usual_is_worse = worse_by(key, usual, level) >= key.delta;
    if (!is_worse && !usual_is_worse) continue;
    if (usual != 0) group.shifts.push_back({metric, level / usual - 1});
    if (group.differs.empty() || !std::all_of(group.differs.begin(), group.differs.end(),
                                              [](const GroupDifference& d) { return is_setup(d.key); }))
      continue;
    // The same hardware, set up otherwise: that is to be mended, and no other kind of node.
    std::optional<GroupEffect> effect = is_worse ? effect_of(key, metric, of_groups[g], of_groups[0])
                                                 : effect_of(key, metric, of_groups[0], of_groups[g]);
    if (!effect) continue;
    std::string names, values, others;
    for (const GroupDifference& d : group.differs) {
      const char* comma = names.empty() ? "" : ", ";
      names += comma + d.key;
      values += comma + (is_worse ? d.value : d.usual);
      others += comma + (is_worse ? d.usual : d.value);
    }
    effect->attribute = names;
    effect->name = values;
    effect->explanation = fmt::format("{} nodes with {} {}: {} of {} is {} from those with {}.", effect->nodes.size(),
                                      names, values, key.metric, key.point, shift_text(*effect), others);
    work.fleet.effects.push_back(std::move(*effect));
  }
}

}  // namespace headrace::fleet
