// The identity of a point or metric across runs: for comparisons, fleets and histories.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/results/run_file.h"

namespace headrace::results {

/// A unit in terms of its base unit: "GB/s" is 1e9 of "B/s". An unknown unit is its own base.
struct UnitScale {
  std::string base;
  double factor = 1;
};
UnitScale unit_scale(std::string_view unit);

/// The work of a point: its workload, and its parameters as "name=value" lines.
struct PointKey {
  std::string workload, params;
  auto operator<=>(const PointKey&) const = default;
};
/// `without`: parameters that are left out.
PointKey point_key(const StoredPoint& point, std::span<const std::string> without = {});

/// Values of one key measure the same.
struct MetricKey {
  PointKey point;
  std::string metric, unit;  // its base unit
  auto operator<=>(const MetricKey&) const = default;
};
MetricKey metric_key(const StoredPoint& point, const StoredMetric& metric);

/// How many of unit `to` one of `from` is, where both have the same base unit.
double unit_ratio(std::string_view from, std::string_view to);

/// A session's value, stalls included: of a rate total work over total time, of anything else the median.
double value_of(const StoredMetric& metric);

/// Why the point's values do not show the usual state of the system. It is "cache-unproven" when a counting repetition
/// is, "disturbed" when more than a third are. "" where they do.
std::string_view left_out_for(const StoredPoint& point);

/// Were names and inodes dropped from memory, too, before cold files were read? Nothing where the point is not cold,
/// has no rate of opens, or does not report it.
std::optional<bool> names_are_cold(const StoredPoint& point);

}  // namespace headrace::results
