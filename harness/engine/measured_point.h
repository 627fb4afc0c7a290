// A point of a run by what it is called, where it was measured.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "harness/engine/run_result.h"

namespace headrace::engine {

/// `label`: "" = it has none. nullptr: there is none, or it has no value.
inline const PointResult* measured_point(const std::vector<PointResult>& points, std::string_view workload,
                                         std::string_view label) {
  const std::string id = label.empty() ? std::string(workload) : fmt::format("{}/{}", workload, label);
  for (const PointResult& p : points)
    if (p.point->id == id && !p.metrics.empty()) return &p;
  return nullptr;
}

}  // namespace headrace::engine
