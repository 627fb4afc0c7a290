#include "harness/results/metric_key.h"

#include <algorithm>
#include <cctype>

#include "harness/base/units.h"
#include "harness/job/need_kinds.h"
#include "harness/record/cache_state.h"
#include "harness/record/highest_rate.h"

namespace headrace::results {

UnitScale unit_scale(std::string_view unit) {
  if (unit.empty()) return {};
  // "GB/s" is read as one of it, "1/s" is one already.
  const std::string one = (std::isdigit(static_cast<unsigned char>(unit.front())) != 0 ? "" : "1") + std::string(unit);
  for (const Dimension dimension : {Dimension::bytes, Dimension::seconds, Dimension::bytes_per_second,
                                    Dimension::per_second, Dimension::flop_per_second, Dimension::transfers_per_second})
    if (const Parsed parsed = parse_quantity(one, dimension); parsed && parsed.value > 0)
      return {std::string(unit_name(dimension)), parsed.value};
  return {std::string(unit), 1};
}

PointKey point_key(const StoredPoint& point, std::span<const std::string> without) {
  PointKey key{point.workload, ""};
  for (const auto& [name, value] : point.params)
    if (std::find(without.begin(), without.end(), name) == without.end()) key.params += name + "=" + value + "\n";
  return key;
}

MetricKey metric_key(const StoredPoint& point, const StoredMetric& metric) {
  return {point_key(point), metric.name, unit_scale(metric.unit).base};
}

double unit_ratio(std::string_view from, std::string_view to) {
  return from == to ? 1 : unit_scale(from).factor / unit_scale(to).factor;
}

double value_of(const StoredMetric& metric) {
  return metric.name == kHighestRate ? metric.median : metric.mean_over_time.value_or(metric.median);
}

std::string_view left_out_for(const StoredPoint& point) {
  constexpr double kMostDisturbed = 1.0 / 3;
  if (point.cache_unproven_share > 0) return "cache-unproven";
  return point.disturbed_share > kMostDisturbed ? "disturbed" : "";
}

std::optional<bool> names_are_cold(const StoredPoint& point) {
  const auto opens = [&](const StoredMetric& metric) { return job::is_of_names(point.workload + "." + metric.name); };
  if (point.cache != to_string(CacheState::cold) || point.each.empty()) return std::nullopt;
  if (std::ranges::none_of(point.metrics, opens)) return std::nullopt;
  return std::ranges::none_of(point.each,
                              [](const StoredRepetition& r) { return r.counted && r.ok && !r.warm_names.empty(); });
}

}  // namespace headrace::results
