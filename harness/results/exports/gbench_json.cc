// Google Benchmark's JSON format, as its stock tools/compare.py and other readers expect it.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/base/version.h"
#include "harness/results/exports.h"
#include "harness/results/json_text.h"

namespace headrace::results {
namespace {

using Json = nlohmann::ordered_json;

double value_of(const StoredRepetition& r, const std::string& metric) {
  const auto found = r.metrics.find(metric);
  return found == r.metrics.end() ? 0 : found->second;
}

/// One repetition. The time is per operation, so that less is better for any workload; everything else, rates too, is a
/// counter. Iterations are operations.
Json entry(const StoredPoint& p, const StoredRepetition& r, std::size_t family, std::size_t number) {
  const std::uint64_t operations = std::max<std::uint64_t>(1, r.operations);
  const auto per = static_cast<double>(operations);
  Json one{{"name", p.id},
           {"family_index", family},
           {"per_family_instance_index", 0},
           {"run_name", p.id},
           {"run_type", "iteration"},
           {"repetitions", p.repetitions},
           {"repetition_index", number},
           {"threads", p.workers},
           {"iterations", operations},
           {"real_time", value_of(r, "elapsed_s") * 1e9 / per},
           {"cpu_time", value_of(r, "cpu_s") * 1e9 / per},
           {"time_unit", "ns"}};
  for (const auto& [name, value] : r.metrics)
    if (!one.contains(name)) one[name] = value;
  return one;
}

std::string gbench_json(const StoredRun& run) {
  Json benchmarks = Json::array();
  for (std::size_t family = 0; family < run.points.size(); ++family) {
    std::size_t number = 0;
    for (const StoredRepetition& r : run.points[family].each)
      if (r.counted) benchmarks.push_back(entry(run.points[family], r, family, number++));
  }
  const auto processors = run.environment.find("cpu.threads");
  const Json all{
      {"context",
       {{"date", run.started_utc},
        {"host_name", run.node},
        {"executable", run.command.empty() ? "headrace" : run.command.front()},
        {"num_cpus", processors == run.environment.end() ? 1 : std::max(1, std::atoi(processors->second.c_str()))},
        {"mhz_per_cpu", 0},
        {"cpu_scaling_enabled", false},
        {"caches", Json::array()},
        {"load_avg", Json::array()},
        {"library_build_type", slow_build(run.build_type, run.sanitizers).empty() ? "release" : "debug"},
        {"headrace_run", run.id},
        {"headrace_version", run.version}}},
      {"benchmarks", std::move(benchmarks)}};
  return json_text(all);
}

const RegisterExport gbench_registered{
    10,
    {"gbench", "gbench.json", [](const StoredRun& run, const ExportOptions&) { return gbench_json(run); },
     "\"headrace_version\": "}};

}  // namespace
}  // namespace headrace::results
