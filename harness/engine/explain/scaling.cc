#include "harness/engine/explain/scaling.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/units.h"
#include "harness/job/formula.h"

namespace headrace {

bool stopped_growing(double clients, double rate, double more_clients, double their_rate) {
  const double each_further = (their_rate - rate) / (more_clients - clients);
  return each_further <= 0.1 * rate / clients;
}

std::size_t count_to_hold_against(std::span<const double> counts) {
  constexpr double kShare = 2.0 / 3;
  std::size_t best = 0;
  for (std::size_t i = 0; i + 1 < counts.size(); ++i)
    if (counts[i] <= kShare * counts.back()) best = i;
  return best;
}

void judge_scaling(ScalingCurve& curve) {
  using job::apply;
  std::vector<ScalingCurve::At>& at = curve.at;
  const auto describe = [&](double rate) { return format_in_unit(rate, curve.unit); };
  curve.per_client = at.front().rate / at.front().clients;
  std::vector<double> counts;
  for (const auto& one : at) counts.push_back(one.clients);
  const ScalingCurve::At &before = at[count_to_hold_against(counts)], &last = at.back();
  curve.saturated = stopped_growing(before.clients, before.rate, last.clients, last.rate);
  for (const auto& one : at) curve.most = std::max(curve.most, one.rate);
  for (auto& one : at) {
    const double linear = one.clients * curve.per_client;
    const double limit = curve.saturated ? curve.most : linear;
    one.expected = apply("G6", {{"clients_count", one.clients},
                                {"per_client_bytes_per_s", curve.per_client},
                                {"backend_bytes_per_s", limit},
                                {"fabric_bytes_per_s", limit}})
                       .value();
    one.efficiency = one.rate / linear;
    if (curve.saturated && curve.reached_by == 0 && one.rate >= 0.9 * curve.most) curve.reached_by = one.clients;
  }
  const std::string name = curve.workload + "." + curve.metric;
  const std::string efficiency = fmt::format("{:.0f} %", 100 * last.efficiency);
  if (!curve.saturated) {
    curve.finding = fmt::format(
        "{} still grows at {} clients: {}, {} of {} times one client's {}; what lies behind them "
        "may give more (G6)",
        name, last.clients, describe(last.rate), efficiency, last.clients, describe(curve.per_client));
    return;
  }
  curve.saturation_clients =
      apply("G7", {{"backend_bytes_per_s", curve.most}, {"per_client_bytes_per_s", curve.per_client}}).value();
  curve.substituted = fmt::format("ceil({} / {})", describe(curve.most), describe(curve.per_client));
  curve.finding = fmt::format(
      "{} is saturated at {}, reached by {} client{}; with {} of one client, {} can show it (G7); "
      "{} clients scale to {}",
      name, describe(curve.most), curve.reached_by, curve.reached_by == 1 ? "" : "s", describe(curve.per_client),
      curve.saturation_clients, last.clients, efficiency);
}

}  // namespace headrace
