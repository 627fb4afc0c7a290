// Changes on most nodes at once: one sentence, and no fault of any of them.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "harness/analysis/comparison/row_words.h"
#include "harness/analysis/history/history.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::history {
namespace {

/// A change of one node's series, and when it was: its place may be off by a run.
struct Dated {
  const Series* series = nullptr;
  const Change* change = nullptr;
  std::string after, until;  // later than, and at the latest
  std::string from, to;      // as it is reported
};

Dated dated(const Series& s, const Change& c, const std::vector<Run>& runs) {
  const auto when = [&](std::size_t index) { return runs[s.run[std::min(index, s.run.size() - 1)]].started_utc; };
  return {&s, &c, when(c.at >= 2 ? c.at - 2 : 0), when(c.at + 1), when(c.at - 1), when(c.at)};
}

/// Most of those that overlap at one time.
std::vector<Dated> at_one_time(const std::vector<Dated>& all) {
  std::vector<Dated> most;
  for (const Dated& at : all) {
    std::vector<Dated> then;
    std::set<std::string> nodes;
    for (const Dated& one : all)
      if (one.after < at.to && at.to <= one.until && nodes.insert(one.series->node).second) then.push_back(one);
    if (then.size() > most.size()) most = std::move(then);
  }
  return most;
}

}  // namespace

std::vector<Together> changes_together(const std::vector<Series>& series, const std::vector<Run>& runs) {
  using Key = std::tuple<std::string, std::string, std::string, Direction>;  // workload, point, metric
  std::map<Key, std::vector<Dated>> changes;
  std::map<std::tuple<std::string, std::string, std::string>, std::set<std::string>> nodes;  // that could show
  for (const Series& s : series) {
    if (s.why.empty()) nodes[{s.workload, s.point, s.metric}].insert(s.node);
    for (const Change& c : s.changes)
      if (c.change()) changes[{s.workload, s.point, s.metric, c.direction}].push_back(dated(s, c, runs));
  }
  std::vector<Together> all;
  for (const auto& [key, dates] : changes) {
    const std::size_t of = nodes[{std::get<0>(key), std::get<1>(key), std::get<2>(key)}].size();
    if (of < kFewestTogether) continue;
    const std::vector<Dated> then = at_one_time(dates);
    if (then.size() < kFewestTogether || 2 * then.size() <= of) continue;
    Together one;
    one.point = std::get<1>(key);
    one.metric = std::get<2>(key);
    one.direction = std::get<3>(key);
    one.of = of;
    std::vector<double> shares;
    one.from = then.front().from;
    one.to = then.front().to;
    for (const Dated& each : then) {
      one.nodes.push_back(each.series->node);
      shares.push_back(*each.change->change());
      one.from = std::min(one.from, each.from);
      one.to = std::max(one.to, each.to);
    }
    one.change = statistics::median(shares);
    one.explanation = fmt::format(
        "{} of {} nodes changed together: {} of {} {}, between {} and {}: look for a cause that they share, not at "
        "single nodes",
        then.size(), of, one.metric, one.point, comparison::change_text(1 + one.change), one.from, one.to);
    all.push_back(std::move(one));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Together& a, const Together& b) { return a.nodes.size() > b.nodes.size(); });
  return all;
}

}  // namespace headrace::history
