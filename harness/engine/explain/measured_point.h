// A point of a run: its name, its place, and the evidence of its values.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/engine/run_result.h"
#include "harness/judge/statistics/summary.h"
#include "harness/record/repetition.h"

namespace headrace::engine {

/// `label`: "" = it has none. nullptr: there is none, or it has no value.
inline const PointResult* measured_point(const std::vector<PointResult>& points, std::string_view workload,
                                         std::string_view label) {
  const std::string id = label.empty() ? std::string(workload) : fmt::format("{}/{}", workload, label);
  for (const PointResult& p : points)
    if (p.point->id == id && !p.metrics.empty()) return &p;
  return nullptr;
}

/// A number that the point was planned with; 0: it has none of that name.
inline double param(const Point& point, const char* name) {
  const auto at = point.params.find(name);
  if (at == point.params.end()) return 0;
  if (const auto* count = std::get_if<std::uint64_t>(&at->second)) return static_cast<double>(*count);
  const auto* number = std::get_if<double>(&at->second);
  return number == nullptr ? 0 : *number;
}

/// Does a repetition that counts prove nothing, as its cache state was not proven?
inline bool has_unproven(const PointResult& point) {
  return std::ranges::any_of(point.repetitions,
                             [](const Repetition& r) { return r.counted && !r.cache.is_evidence(); });
}

/// The metric's median and bounds over the repetitions that count and are evidence; nothing where there is none.
inline std::optional<Estimate> proven(const PointResult* point, std::string_view metric) {
  std::vector<double> values;
  if (point != nullptr)
    for (const Repetition& r : point->repetitions)
      for (const MetricValue& m : r.metrics)
        if (r.counted && r.cache.is_evidence() && m.name == metric) values.push_back(m.value);
  if (values.empty()) return std::nullopt;
  const statistics::Interval bounds = statistics::median_interval(values);
  return Estimate{statistics::median(values), bounds.low, bounds.high};
}

// Which repetitions count.

/// Repetitions that went through and that nothing disturbed.
unsigned clean(std::span<const Repetition> repetitions);
/// Repetitions that count.
unsigned counted(std::span<const Repetition> repetitions);
/// Marks the counting ones of the completed repetitions. `target` are wanted: a disturbed one counts only where no
/// undisturbed one replaces it.
void count_up_to(unsigned target, std::span<Repetition> repetitions);

}  // namespace headrace::engine
