#include "harness/observe/as_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/base/diagnostics.h"
#include "harness/base/file_text.h"
#include "harness/observe/observation.h"
#include "harness/results/pair_metrics.h"

namespace headrace::observe {
namespace {

using nlohmann::json;

constexpr std::size_t kParts = 20;

/// Of the values of `name` whose slices lie in the time in which batches were taken: means of neighbours.
std::vector<double> parts_of(const json& seen, const char* name) {
  const auto time = seen.at("series").at("time_s").get<std::vector<double>>();
  const auto all = seen.at("series").at(name).get<std::vector<double>>();
  const double begin_s = seen.at("batches").at("begin_s"), end_s = seen.at("batches").at("end_s");
  std::vector<double> within, parts;
  for (std::size_t i = 0; i < std::min(time.size(), all.size()); ++i)
    if (time[i] > begin_s && time[i] <= end_s + 1e-9) within.push_back(all[i]);
  const std::size_t count = std::min(kParts, within.size());
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t from = p * within.size() / count, to = (p + 1) * within.size() / count;
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += within[i];
    parts.push_back(sum / static_cast<double>(to - from));
  }
  return parts;
}

results::StoredMetric metric(const char* name, const char* unit, std::vector<double> values) {
  results::StoredMetric one;
  one.name = name;
  one.unit = unit;
  one.better = Better::higher;
  one.values = std::move(values);
  if (!one.values.empty()) results::summarize_range(one);
  return one;
}

results::StoredRun run_of(const json& seen, const std::string& path) {
  results::StoredRun run;
  run.id = run.path = path;
  run.name = run.config_file = run.config_hash = "observe";
  run.version = seen.at("headrace").at("version");
  run.elapsed_s = seen.at("elapsed_s");
  run.summary.word = Outcome::measured;
  results::StoredPoint point;
  point.id = point.workload = "observe";
  point.status = "ok";
  std::vector<double> fed = parts_of(seen, "waiting_for_loader");
  for (double& one : fed) one = 1 - one;
  point.repetitions = static_cast<unsigned>(fed.size());
  point.metrics.push_back(metric("data_there", "ratio", std::move(fed)));
  if (seen.at("batches").at("steps") > 0)
    point.metrics.push_back(metric("batch_rate", "/s", parts_of(seen, "batches_per_s")));
  run.points.push_back(std::move(point));
  return run;
}

}  // namespace

results::StoredRun run_in(const std::string& path) {
  const json seen = json::parse(file_text(path), nullptr, false);
  if (!seen.is_object() || seen.value("kind", "") != kObservationKind || seen.value("schema", 0) != kObservationSchema)
    throw UsageError(path + ": is no observation of schema 1, as headrace observe writes it");
  try {
    return run_of(seen, path);
  } catch (const json::exception& e) {
    throw UsageError(path + ": " + e.what());
  }
}

}  // namespace headrace::observe
