// Which nodes are worse than their like, after common deviations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/analysis/comparison/row_words.h"
#include "harness/analysis/fleet/state.h"
#include "harness/base/units.h"

namespace headrace::fleet {
namespace {

using statistics::kFewestAlike;
using statistics::kOutlierLimit;
using statistics::Robust;

/// Two sessions confirm each other when each deviates by that many robust deviations, and so do both in the mean.
/// Variation between sessions may lift a slow node above one limit, but never takes a healthy one below it twice.
constexpr double kEachSession = 2.5, kBothSessions = 3.3;

/// Removes the nodes' common deviation from a value.
struct Shared {
  double usual = 0, level = 0, again = 0;

  double without(double value) const { return off(value, level); }
  double without_again(double value) const { return off(value, again); }

 private:
  double off(double value, double from) const { return from != 0 ? value * usual / from : usual + value; }
};

class MetricJudge {
 public:
  MetricJudge(Work& work, std::size_t metric) : work_(work), key_(work.fleet.metrics[metric]), metric_(metric) {}

  void judge(std::size_t group, const std::vector<Valued>& having) {
    find_shared(having);
    std::vector<double> levelled;
    for (const Valued& one : having) levelled.push_back(level(one, one.value, false));
    usual_ = statistics::robust(levelled);
    // Another session is compared with the usual values at that time, where enough nodes report: all may have changed.
    std::vector<double> agains;
    for (const Valued& one : having)
      if (one.again) agains.push_back(level(one, *one.again, true));
    usual_again_ = agains.size() >= kFewestAlike ? statistics::robust(agains) : usual_;
    Limit limit;
    limit.group = group;
    limit.metric = metric_;
    limit.nodes = having.size();
    limit.usual = usual_;
    const double away = kOutlierLimit * usual_.spread;
    if (key_.better == Better::higher)
      limit.low = std::min(usual_.median - away, usual_.median / (1 + key_.delta));
    else
      limit.high = std::max(usual_.median + away, usual_.median * (1 + key_.delta));
    work_.fleet.limits.push_back(limit);
    for (std::size_t n = 0; n < having.size(); ++n) judge_node(having[n], levelled[n]);
    if (auto all = change_of_all(key_, metric_, having)) work_.fleet.effects.push_back(std::move(*all));
  }

 private:
  /// Racks first, then two humps of the rest.
  void find_shared(const std::vector<Valued>& having) {
    std::vector<GroupEffect> effects = place_effects(work_, metric_, having);
    for (const GroupEffect& effect : effects) share(effect);
    std::vector<Valued> rest;
    for (const Valued& one : having)
      if (!shared_.contains(one.node)) rest.push_back(one);
    if (auto effect = hump_effect(work_, metric_, rest)) {
      share(*effect);
      effects.push_back(std::move(*effect));
    }
    for (GroupEffect& effect : effects) {
      if (effect.status == Status::suspected)
        effect.next_step = fmt::format("measure {} or more of these nodes once more: --rerun", 3);
      work_.fleet.effects.push_back(std::move(effect));
    }
  }

  void share(const GroupEffect& effect) {
    for (const std::size_t node : effect.nodes)
      shared_[node] = {effect.usual, effect.level, effect.again.value_or(effect.level)};
  }

  double level(const Valued& one, double value, bool again) const {
    const auto found = shared_.find(one.node);
    if (found == shared_.end()) return value;
    return again ? found->second.without_again(value) : found->second.without(value);
  }

  /// In robust deviations, worse above 0; infinite where the others do not differ at all.
  double worse(double value, const Robust& usual) const {
    const double away = key_.better == Better::higher ? usual.median - value : value - usual.median;
    if (usual.spread > 0) return away / usual.spread;
    return away > 0 ? HUGE_VAL : 0;
  }

  bool beyond_delta(double value, const Robust& usual) const {
    return worse_by(key_, value, usual.median) > key_.delta;
  }

  bool both_worse(double value, double again) const {
    const double now = worse(value, usual_), then = worse(again, usual_again_);
    return beyond_delta(value, usual_) && beyond_delta(again, usual_again_) && now >= kEachSession &&
           then >= kEachSession && now + then > 2 * kBothSessions;
  }

  void judge_node(const Valued& one, double levelled) {
    Node& node = work_.fleet.nodes[one.node];
    std::optional<double> deviation, z;
    if (usual_.median != 0) deviation = levelled / usual_.median - 1;
    if (usual_.spread > 0) z = usual_.z(levelled);
    node.deviation[metric_] = deviation;
    const std::optional<double> again = one.again ? std::optional(level(one, *one.again, true)) : std::nullopt;
    const bool confirmed = again && both_worse(levelled, *again);
    if (!confirmed && !(beyond_delta(levelled, usual_) && worse(levelled, usual_) > kOutlierLimit)) return;
    Outlier out;
    out.node = one.node;
    out.metric = metric_;
    out.value = one.value;
    out.median = usual_.median;
    out.deviation = deviation;
    out.z = z;
    out.again = one.again;
    if (one.again) out.again_run = one.again_run->run;
    out.status = confirmed ? Status::confirmed : one.again ? Status::passing : Status::suspected;
    report(out);
    work_.fleet.outliers.push_back(std::move(out));
  }

  void report(Outlier& out) const {
    const std::string& node = work_.fleet.nodes[out.node].name;
    std::string what = fmt::format("{} of {}: {}, usual {}", key_.metric, key_.point,
                                   format_in_unit(out.value, key_.unit), format_in_unit(out.median, key_.unit));
    if (out.deviation && out.z)
      what += fmt::format(" ({}, {:.1f} robust deviations)", comparison::change_text(1 + *out.deviation), *out.z);
    switch (out.status) {
      case Status::confirmed:
        out.explanation = fmt::format("{}; {} in another run.", what, format_in_unit(*out.again, key_.unit));
        out.next_step = fmt::format("Take {} out and look at it: headrace doctor", node);
        break;
      case Status::passing:
        out.explanation = fmt::format("{}; {} in another run: passing, not counted as a fault of the node.", what,
                                      format_in_unit(*out.again, key_.unit));
        break;
      case Status::suspected:
        out.explanation = what + "; it was not measured again.";
        out.next_step =
            fmt::format("on {}: {} --only '{}'", node, work_.newest(out.node).measuring_command, key_.point);
        break;
    }
  }

  Work& work_;
  const ComparedMetric& key_;
  std::size_t metric_;
  Robust usual_, usual_again_;
  std::map<std::size_t, Shared> shared_;
};

/// A node's value, and the one of the session before with the same hardware.
Valued valued(const Work& work, std::size_t node, std::size_t metric) {
  const std::vector<Sample>& samples = work.samples[node][metric];
  Valued one{node, samples.front().value, {}, nullptr};
  for (std::size_t s = 1; s < samples.size() && !one.again; ++s) {
    if (!alike(*samples[s].run, *samples.front().run)) continue;
    one.again = samples[s].value;
    one.again_run = samples[s].run;
  }
  return one;
}

}  // namespace

void judge_values(Work& work) {
  for (std::size_t metric = 0; metric < work.fleet.metrics.size(); ++metric) {
    std::vector<std::vector<Valued>> having(work.fleet.groups.size());
    for (std::size_t i = 0; i < work.fleet.nodes.size(); ++i)
      if (!work.samples[i][metric].empty()) having[work.fleet.nodes[i].group].push_back(valued(work, i, metric));
    for (std::size_t group = 0; group < having.size(); ++group)
      if (work.fleet.groups[group].judged && having[group].size() >= kFewestAlike)
        MetricJudge(work, metric).judge(group, having[group]);
    compare_groups(work, metric, having);
  }
}

}  // namespace headrace::fleet
