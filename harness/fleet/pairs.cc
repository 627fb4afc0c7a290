// Whose fault a slow pair is: a node that is slow with everyone, or the link between two.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/fleet/state.h"
#include "harness/units.h"

namespace headrace::fleet {

JudgedPairs judge_pairs(PairMatrix matrix) {
  constexpr unsigned kFewestPartners = 3;
  JudgedPairs out;
  const std::size_t n = matrix.nodes.size();
  const bool higher = matrix.better != Better::lower;
  // Both directions as one pair of values: slow is what either of them is.
  std::vector<double> all;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (i != j && std::isfinite(matrix.values[i][j])) all.push_back(matrix.values[i][j]);
  if (all.size() < statistics::kFewestAlike) {
    out.matrix = std::move(matrix);
    return out;
  }
  const statistics::Robust usual = statistics::robust(all);
  out.median = usual.median;
  const double away =
      std::max(statistics::kOutlierLimit * usual.spread, statistics::kDeltaRate * usual.median);
  out.low = higher ? usual.median - away : usual.median + away;
  const auto is_slow = [&](std::size_t i, std::size_t j) {
    const double v = matrix.values[i][j];
    return std::isfinite(v) && (higher ? v < out.low : v > out.low);
  };
  std::vector<bool> blamed(n);
  for (std::size_t i = 0; i < n; ++i) {
    unsigned partners = 0, slow = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j || !(std::isfinite(matrix.values[i][j]) || std::isfinite(matrix.values[j][i])))
        continue;
      ++partners;
      slow += is_slow(i, j) || is_slow(j, i);
    }
    if (slow < kFewestPartners || 2 * slow <= partners) continue;
    blamed[i] = true;
    out.blamed.push_back(
        {matrix.nodes[i],
         fmt::format("slow with {} of {} partners: the node, not a link", slow, partners), partners,
         slow});
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (i != j && is_slow(i, j) && !blamed[i] && !blamed[j])
        out.links.push_back({matrix.nodes[i], matrix.nodes[j], matrix.values[i][j],
                             matrix.values[i][j] / out.median - 1});
  std::sort(out.links.begin(), out.links.end(), [&](const SlowLink& a, const SlowLink& b) {
    return higher ? a.value < b.value : a.value > b.value;
  });
  out.matrix = std::move(matrix);
  return out;
}

}  // namespace headrace::fleet
