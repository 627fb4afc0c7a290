#include "harness/observe/as_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/base/diagnostics.h"
#include "harness/base/file_text.h"
#include "harness/observe/observation.h"
#include "harness/results/json_place.h"
#include "harness/results/pair_metrics.h"

namespace headrace::observe {
namespace {

using results::JsonPlace;

constexpr std::size_t kParts = 20;

/// Means of neighbours, of the values of `name` in the time in which batches were taken.
std::vector<double> parts_of(const JsonPlace& seen, const char* name) {
  const std::vector<double> time = seen.at("series").at("time_s").numbers();
  const std::vector<double> all = seen.at("series").at(name).numbers();
  const double begin_s = seen.at("batches").at("begin_s").number(), end_s = seen.at("batches").at("end_s").number();
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

results::StoredRun run_of(const JsonPlace& seen, const std::string& path) {
  results::StoredRun run;
  run.id = run.path = path;
  run.name = run.config_file = run.config_hash = "observe";
  run.version = seen.at("headrace").at("version").text();
  run.elapsed_s = seen.at("elapsed_s").number();
  run.summary.word = Outcome::measured;
  results::StoredPoint point;
  point.id = point.workload = "observe";
  point.status = "ok";
  std::vector<double> fed = parts_of(seen, "waiting_for_loader");
  for (double& one : fed) one = 1 - one;
  point.repetitions = static_cast<unsigned>(fed.size());
  point.metrics.push_back(metric("data_there", "ratio", std::move(fed)));
  if (seen.at("batches").at("steps").number() > 0)
    point.metrics.push_back(metric("batch_rate", "/s", parts_of(seen, "batches_per_s")));
  run.points.push_back(std::move(point));
  return run;
}

}  // namespace

results::StoredRun run_in(const std::string& path) {
  const std::string text = file_text(path);
  const nlohmann::json seen = nlohmann::json::parse(text, nullptr, false);
  const JsonPlace place(seen);
  try {
    if (!seen.is_object() || place.text("kind", "") != kObservationKind ||
        place.whole("schema", 0) != kObservationSchema)
      throw UsageError(path + ": is no observation of schema 1, as headrace observe writes it");
    return run_of(place, path);
  } catch (const results::JsonError& e) {
    throw UsageError(e.place_in(path, text));
  }
}

}  // namespace headrace::observe
