// Gates that match nothing are refused.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "harness/analysis/comparison/comparison.h"

namespace headrace::comparison {

/// Metrics by what globs may call their place: workloads and points.
using MetricNames = std::map<std::string, std::set<std::string>>;

/// Throws UsageError that names the nearest metrics when a glob matches none. An unmatched gate would never fail.
void require_matches(std::span<const std::string> gates, const MetricNames& known);

/// The same, for the metrics of any side.
void require_matches(std::span<const std::string> gates, std::span<const Side> sides);

}  // namespace headrace::comparison
