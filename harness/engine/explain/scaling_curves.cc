#include "harness/engine/explain/scaling_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "harness/engine/explain/measured_point.h"

namespace headrace::engine {
namespace {

/// The workload's first rate that every point has a value of: bytes before operations.
const Metric* rate_everywhere(const std::vector<const PointResult*>& group) {
  for (const std::string_view unit : {"B/s", "1/s"}) {
    for (const Metric& metric : group.front()->point->info->metrics) {
      if (metric.unit != unit || metric.better != Better::higher) continue;
      const bool everywhere = std::all_of(group.begin(), group.end(), [&](const PointResult* p) {
        return proven(p, metric.name).value_or(Estimate{}).value > 0;
      });
      if (everywhere) return &metric;
    }
  }
  return nullptr;
}

std::string key_of(const PointResult& p) {
  std::string key = fmt::format("{}/{}", p.point->info->name, to_string(p.point->cache));
  for (const auto& [name, value] : p.point->params) {
    if (name == "clients") continue;
    key += "/" + name + ":" + std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
  }
  return key;
}

}  // namespace

std::vector<ScalingCurve> scaling_curves(const std::vector<PointResult>& points) {
  std::vector<std::pair<std::string, std::vector<const PointResult*>>> groups;  // as they ran
  for (const PointResult& p : points) {
    if (p.status != PointStatus::ok || p.point->clients == 0 || p.across_ranks != AcrossRanks::add) continue;
    if (has_unproven(p)) continue;  // it may have measured memory
    const std::string key = key_of(p);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == key; });
    if (group == groups.end()) group = groups.insert(group, {key, {}});
    const bool known = std::any_of(group->second.begin(), group->second.end(),
                                   [&](auto* other) { return other->point->clients == p.point->clients; });
    if (!known) group->second.push_back(&p);
  }
  std::vector<ScalingCurve> curves;
  for (auto& [key, group] : groups) {
    if (group.size() < 2) continue;
    std::sort(group.begin(), group.end(),
              [](const PointResult* a, const PointResult* b) { return a->point->clients < b->point->clients; });
    const Metric* rate = rate_everywhere(group);
    if (rate == nullptr) continue;
    ScalingCurve curve;
    curve.workload = group.front()->point->info->name;
    curve.metric = rate->name;
    curve.unit = rate->unit;
    for (const PointResult* p : group) {
      ScalingCurve::At at;
      at.clients = p->point->clients;
      at.point = p->point->id;
      at.rate = proven(p, rate->name)->value;
      curve.at.push_back(at);
    }
    judge_scaling(curve);
    curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace headrace::engine
