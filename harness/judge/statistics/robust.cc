#include "harness/judge/statistics/robust.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/judge/statistics/summary.h"

namespace headrace::statistics {

Robust robust(std::span<const double> values) {
  constexpr double kToStandard = 1.4826;  // for normal values
  Robust r;
  r.median = median(values);
  std::vector<double> away;
  away.reserve(values.size());
  for (const double v : values) away.push_back(std::abs(v - r.median));
  r.spread = std::max(kToStandard * median(away), kSpreadFloor * std::abs(r.median));
  return r;
}

}  // namespace headrace::statistics
