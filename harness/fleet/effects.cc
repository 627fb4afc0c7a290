// Racks, switches and the like whose nodes are worse together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/comparison/row_words.h"
#include "harness/fleet/state.h"
#include "harness/statistics/summary.h"

namespace headrace::fleet {
namespace {

using statistics::kFewestAlike;
using statistics::kOutlierLimit;
using statistics::Robust;

constexpr std::size_t kFewestInGroupEffect = 3;

/// How much worse than the usual, as a share: positive is worse.
double worse_by(const MetricKey& key, double value, double usual) {
  if (value <= 0 || usual <= 0) return 0;
  return key.better == Better::higher ? usual / value - 1 : value / usual - 1;
}

}  // namespace

std::map<std::string, GroupEffect> group_effects(const Fleet& fleet, std::size_t metric,
                                                 const std::vector<std::size_t>& having) {
  const MetricKey& key = fleet.metrics[metric];
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> places;
  for (const std::size_t i : having)
    for (const auto& [attribute, name] : fleet.nodes[i].attributes)
      places[{attribute, name}].push_back(i);
  std::vector<GroupEffect> found;
  for (const auto& [place, members] : places) {
    if (members.size() < kFewestInGroupEffect || having.size() < members.size() + kFewestAlike)
      continue;
    std::set<std::size_t> inside(members.begin(), members.end());
    std::vector<double> own, rest;
    for (const std::size_t i : having)
      (inside.contains(i) ? own : rest).push_back(*fleet.nodes[i].values[metric]);
    const Robust others = statistics::robust(rest);
    const double middle = statistics::median(own);
    if (worse_by(key, middle, others.median) < key.delta) continue;
    // Most of its nodes, not two bad ones of three.
    const auto bad = std::count_if(own.begin(), own.end(), [&](double v) {
      return worse_by(key, v, others.median) > key.delta / 2;
    });
    if (4 * bad < 3 * static_cast<long>(own.size())) continue;
    // The standard error of a median of normal values.
    const double error = 1.2533 * others.spread / std::sqrt(static_cast<double>(own.size()));
    const double z = (middle - others.median) / error;
    if (std::abs(z) <= kOutlierLimit) continue;
    GroupEffect effect;
    effect.attribute = place.first;
    effect.name = place.second;
    effect.metric = metric;
    effect.shift = middle / others.median - 1;
    effect.z = z;
    effect.nodes = members;
    effect.explanation =
        fmt::format("{} of {} nodes of {} {}: {} of {} is {} from the rest. One finding, not {}.",
                    bad, own.size(), place.first, place.second, key.metric, key.point,
                    comparison::change_text(1 + effect.shift), own.size());
    found.push_back(std::move(effect));
  }
  std::stable_sort(found.begin(), found.end(), [](const GroupEffect& a, const GroupEffect& b) {
    return std::abs(a.z) > std::abs(b.z);
  });
  std::map<std::string, GroupEffect> chosen;
  std::set<std::size_t> explained;
  for (GroupEffect& effect : found) {
    if (std::any_of(effect.nodes.begin(), effect.nodes.end(),
                    [&](std::size_t i) { return explained.contains(i); }))
      continue;
    explained.insert(effect.nodes.begin(), effect.nodes.end());
    chosen.emplace(effect.attribute + "\n" + effect.name, std::move(effect));
  }
  return chosen;
}

}  // namespace headrace::fleet
