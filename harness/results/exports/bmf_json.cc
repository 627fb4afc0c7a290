// Bencher metric format: {"benchmark": {"measure": {"value", "lower_value", "upper_value"}}}. Every metric is a measure
// of its own, so that rates and latencies both survive.
#include <nlohmann/json.hpp>

#include "harness/results/exports.h"
#include "harness/results/json_text.h"

namespace headrace::results {
namespace {

std::string bmf_json(const StoredRun& run) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const StoredPoint& point : run.points) {
    nlohmann::ordered_json measures = nlohmann::ordered_json::object();
    for (const StoredMetric& metric : point.metrics) {
      if (metric.values.empty()) continue;
      nlohmann::ordered_json& one = measures[metric.name];
      one["value"] = metric.shown();
      if (metric.values.size() < 2) continue;  // a single value bounds nothing
      one["lower_value"] = metric.low;
      one["upper_value"] = metric.high;
    }
    if (!measures.empty()) all[point.id] = std::move(measures);
  }
  return json_text(all);
}

const RegisterExport bmf_registered{
    20, {"bmf", "", [](const StoredRun& run, const ExportOptions&) { return bmf_json(run); }, "\": {\n   \"value\": "}};

}  // namespace
}  // namespace headrace::results
