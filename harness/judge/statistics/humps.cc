#include "harness/judge/statistics/humps.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace headrace::statistics {

double humps_limit(std::size_t count) { return 0.75 + 0.6 / std::sqrt(static_cast<double>(count)); }

std::optional<Humps> two_humps(std::span<const double> values) {
  const std::size_t n = values.size();
  const auto least =
      std::max<std::size_t>(kFewestInHump, static_cast<std::size_t>(std::ceil(kSmallestHump * static_cast<double>(n))));
  if (n < 2 * least) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() == sorted.back()) return std::nullopt;
  double mean = 0, all = 0;
  for (const double v : sorted) mean += v / static_cast<double>(n);
  for (const double v : sorted) all += (v - mean) * (v - mean);
  double lower = 0, most = 0;
  std::size_t cut = 0;
  for (std::size_t k = 1; k + least <= n; ++k) {
    lower += sorted[k - 1] - mean;
    if (k < least) continue;
    const auto count = static_cast<double>(k), rest = static_cast<double>(n - k);
    const double between = lower * lower * (1 / count + 1 / rest);
    if (between > most) {
      most = between;
      cut = k;
    }
  }
  if (!(most > humps_limit(n) * all)) return std::nullopt;
  return Humps{sorted[cut - 1], sorted[cut]};
}

}  // namespace headrace::statistics
