#include "harness/bringup/tests/judge_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/analysis/fleet/fleet.h"
#include "harness/base/diagnostics.h"
#include "harness/bringup/blame/judge.h"
#include "harness/bringup/hand_over.h"

namespace headrace::bringup {
namespace {

using results::StoredPoint;
using results::StoredRun;

constexpr const char* kFix = "drain it, run headrace doctor there, then --retest ";
constexpr std::size_t kMostReasons = 3;
/// For a point's metrics after its first: a smaller difference accuses no node.
constexpr double kOfMany = 0.2;

/// As a run of the node's own, as in a fleet.
StoredRun run_of(const NodeTests& tests, const TestedNode& tested, const Record& record) {
  const NodeRecord& node = record.nodes[tested.node];
  StoredRun run;
  run.node = node.host.name;
  run.id = fmt::format("{} {}", tests.started_utc, run.node);
  run.started_utc = tests.started_utc;
  run.elapsed_s = tests.took_s;
  run.version = record.headrace;
  run.summary.word = Outcome::measured;
  if (node.facts) run.environment = node.facts->facts;
  for (std::size_t m = 0; m < tests.metrics.size(); ++m) {
    if (m >= tested.values.size() || !tested.values[m]) continue;
    const TestedMetric& of = tests.metrics[m];
    StoredPoint point;
    point.id = of.point;
    point.workload = of.workload;
    point.params = of.params;
    results::StoredMetric metric;
    metric.name = of.metric;
    metric.unit = of.unit;
    metric.description = of.description;
    metric.better = of.better;
    metric.median = metric.low = metric.high = *tested.values[m];
    metric.values = {metric.median};
    point.metrics.push_back(std::move(metric));
    run.points.push_back(std::move(point));
  }
  return run;
}

class Judging {
 public:
  explicit Judging(const Record& record) : record_(record) {
    const Replay replay(record);
    fleet::Collector collector;
    fleet::Options options;
    for (const NodeRecord& node : record.nodes) options.hosts.push_back(node.host);
    for (std::size_t s = 0; s < record.sessions.size(); ++s)
      for (const NodeTests& tests : record.sessions[s].tests)
        for (const TestedNode& one : tests.nodes) {
          if (!replay.counts(s, one.node)) continue;
          if (const auto before = newest_.find(one.node); before != newest_.end()) earlier_[one.node] = before->second;
          newest_[one.node] = &one;
          for (const TestedFault& fault : one.faults) faults_[one.node].emplace(fault.part, &fault);
          for (const TestedMetric& metric : tests.metrics)
            if (metric.leads) leading_.insert(metric.point + "." + metric.metric);
          if (const StoredRun run = run_of(tests, one, record); !run.points.empty()) collector.add(run);
        }
    if (newest_.empty()) return;
    fleet_ = fleet::judge(collector, {}, options);
    for (unsigned node = 0; node < record.nodes.size(); ++node) numbers_[record.nodes[node].host.name] = node;
  }

  TestsJudged result() {
    if (newest_.empty()) return {};
    faults();
    outliers();
    effects();
    lacking();
    if (fleet_.limits.empty()) {
      expectations();
      judged_.unjudged = why_unjudged();
    }
    return std::move(judged_);
  }

 private:
  unsigned number(std::size_t node) const { return numbers_.at(fleet_.nodes[node].name); }

  std::string disturbed(unsigned node) const {
    const double share = newest_.at(node)->disturbed;
    return share > 0 ? fmt::format(" Others' programs disturbed {:.0f} % of its repetitions.", 100 * share) : "";
  }

  /// One occurrence is a fault: it needs neither others to compare with nor another session.
  void faults() {
    for (const auto& [node, parts] : faults_)
      for (const auto& [part, fault] : parts)
        if (!is_reported(node, part, fault->reported))
          judged_.differences.push_back({node, part, fault->reported, fault->fix, true, true});
  }
  /// By the node's earlier facts.
  bool is_reported(unsigned node, const std::string& part, const std::string& reported) const {
    const std::vector<Difference>& known = record_.nodes[node].differences;
    return std::any_of(known.begin(), known.end(), [&](const Difference& one) {
      return one.fault && !one.tested && one.reported.starts_with(part + ": ") &&
             reported == fmt::format("{} is broken: {}.", part, one.reported.substr(part.size() + 2));
    });
  }

  /// Where too few are alike to show the usual value: values far below all sound hardware, twice. Hosts that share a
  /// machine share its rate, too.
  void expectations() {
    std::map<std::string, std::size_t> hosts_of;
    for (const auto& [node, tested] : newest_) ++hosts_of[machine_of(node)];
    for (const auto& [node, tested] : newest_) {
      if (hosts_of[machine_of(node)] > 1) continue;
      const auto before = earlier_.find(node);
      for (const auto& [what, reported] : tested->far_below) {
        if (before == earlier_.end())
          judged_.suspects.push_back(node);
        else if (before->second->far_below.contains(what))
          judged_.differences.push_back(
              {node, what, what + ": " + reported, kFix + record_.nodes[node].host.name, true, true});
      }
    }
  }

  /// The kernel that it runs on; containers of one have the same.
  std::string machine_of(unsigned node) const {
    const auto& facts = record_.nodes[node].facts;
    return facts ? facts->machine.substr(0, facts->machine.find(' ')) : fmt::format("{}", node);
  }

  /// Is it off by enough, among that many metrics?
  bool is_clear(std::size_t metric, const std::optional<double>& off) const {
    const fleet::ComparedMetric& of = fleet_.metrics[metric];
    return leading_.contains(of.point + "." + of.metric) || !off || std::abs(*off) >= kOfMany;
  }

  void outliers() {
    for (const fleet::Outlier& one : fleet_.outliers) {
      if (!is_clear(one.metric, one.deviation)) continue;
      const unsigned node = number(one.node);
      const fleet::ComparedMetric& metric = fleet_.metrics[one.metric];
      if (one.status == fleet::Status::suspected) judged_.suspects.push_back(node);
      judged_.differences.push_back({node, metric.point + "." + metric.metric, one.explanation + disturbed(node),
                                     kFix + record_.nodes[node].host.name, one.status == fleet::Status::confirmed,
                                     true});
    }
  }

  void effects() {
    for (const fleet::GroupEffect& one : fleet_.effects) {
      if (!is_clear(one.metric, one.shift)) continue;
      if (one.status == fleet::Status::suspected)
        for (const std::size_t node : one.nodes) judged_.suspects.push_back(number(node));
      if (one.status != fleet::Status::confirmed) continue;
      std::vector<std::string> names;
      for (const std::size_t node : one.nodes) names.push_back(fleet_.nodes[node].name);
      NamedFault reported;
      reported.fault.scope = Finding::Scope::shared;
      reported.scope = one.name.empty() ? "nodes" : one.attribute;
      reported.subject = one.name.empty() ? compressed(names) : one.name;
      reported.text = fmt::format("{} Nodes: {}", one.explanation, compressed(names));
      reported.fix = "look at what these nodes share: power, cooling, a switch, settings";
      reported.loss = one.shift ? std::abs(*one.shift) : 0;
      judged_.shared.push_back(std::move(reported));
    }
  }

  /// Values that most of the like have.
  void lacking() {
    const std::size_t half = newest_.size() / 2;
    for (const auto& [node, tested] : newest_)
      for (const auto& [point, why] : tested->without) {
        const auto lacks = [&, name = point](const auto& other) {
          return other.second->without.contains(name) || other.second->without.contains("");
        };
        const auto others = static_cast<std::size_t>(std::count_if(newest_.begin(), newest_.end(), lacks));
        if (others > half || newest_.size() < 3) continue;
        judged_.differences.push_back(
            {node, point.empty() ? "node tests" : point,
             fmt::format("{}: {}; the others measured it", point.empty() ? "node tests" : point, why),
             kFix + record_.nodes[node].host.name, true, true});
      }
  }

  std::string why_unjudged() const {
    if (!fleet_.metrics.empty()) {
      std::size_t most = 0;
      for (const fleet::Group& group : fleet_.groups) most = std::max(most, group.nodes);
      return fmt::format(
          "no comparison: {} node{} of the same hardware and settings measured the same, and a median needs {}. Only "
          "faults were checked, and rates far below healthy hardware (headrace verdict RUN --expect)",
          most, most == 1 ? "" : "s", statistics::kFewestAlike);
    }
    std::set<std::string> reasons;
    for (const auto& [node, tested] : newest_)
      for (const auto& [point, why] : tested->without) reasons.insert(point.empty() ? why : point + ": " + why);
    std::vector<std::string> some(reasons.begin(), reasons.end());
    some.resize(std::min(some.size(), kMostReasons));
    return some.empty() ? "nothing was measured" : join(some, "; ");
  }

  const Record& record_;
  std::map<unsigned, const TestedNode*> newest_, earlier_;
  std::map<unsigned, std::map<std::string, const TestedFault*>> faults_;  // by node and part
  std::set<std::string> leading_;                                         // "point.metric"
  std::map<std::string, unsigned> numbers_;
  fleet::Fleet fleet_;
  TestsJudged judged_;
};

}  // namespace

TestsJudged judge_tests(const Record& record) { return Judging(record).result(); }

}  // namespace headrace::bringup
