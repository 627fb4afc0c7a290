#include "harness/bringup/blame/slower_groups.h"

#include <algorithm>
#include <cmath>

#include "harness/bringup/blame/losses.h"
#include "harness/judge/statistics/robust.h"

namespace headrace::bringup {
namespace {

/// The rates of other groups of this size in the same repetition.
std::vector<double> of_others(std::span<const GroupRun> groups, std::size_t self, const GroupValue& wanted) {
  std::vector<double> values;
  for (std::size_t other = 0; other < groups.size(); ++other) {
    if (other == self || groups[other].nodes.size() != groups[self].nodes.size()) continue;
    for (const GroupValue& one : groups[other].values)
      if (one.point == wanted.point && one.metric == wanted.metric) values.push_back(one.value);
  }
  return values;
}

/// Its distance on the bad side of the usual, as a share of it.
double loss(double value, double usual, Better better) {
  return (better == Better::higher ? usual - value : value - usual) / usual;
}

}  // namespace

std::vector<SlowerGroup> slower_groups(std::span<const GroupRun> groups) {
  std::vector<SlowerGroup> slower;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t v = 0; v < groups[g].values.size(); ++v) {
      const GroupValue& own = groups[g].values[v];
      const std::vector<double> others = of_others(groups, g, own);
      if (own.better == Better::neither || others.size() + 1 < kFewestGroups) continue;
      const statistics::Robust usual = statistics::robust(others);
      if (usual.median <= 0 || std::abs(usual.z(own.value)) <= statistics::kOutlierLimit) continue;
      if (std::min(loss(own.value, usual.median, own.better), loss(own.best, usual.median, own.better)) <= kDelta)
        continue;
      slower.push_back({g, v, usual.median, others.size(), loss(own.value, usual.median, own.better)});
    }
  return slower;
}

bool comparable(std::span<const GroupRun> groups) {
  return std::any_of(groups.begin(), groups.end(), [&](const GroupRun& one) {
    const auto alike = [&](const GroupRun& other) {
      return other.nodes.size() == one.nodes.size() && !other.values.empty();
    };
    return static_cast<std::size_t>(std::count_if(groups.begin(), groups.end(), alike)) >= kFewestGroups;
  });
}

}  // namespace headrace::bringup
