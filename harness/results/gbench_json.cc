// Google Benchmark's JSON format: what its stock tools/compare.py and others that read it expect.
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "harness/results/json_text.h"
#include "harness/results/parts.h"
#include "harness/results/result_store.h"

namespace headrace::results {
namespace {

using Json = nlohmann::ordered_json;

double value_of(const Repetition& r, std::string_view metric) {
  for (const MetricValue& m : r.metrics) {
    if (m.name == metric) return m.value;
  }
  return 0;
}

/// One repetition. The time is per operation, so that less is better whatever the workload does;
/// everything else, rates too, is a counter. Iterations are operations.
Json entry(const PointResult& p, const Repetition& r, std::size_t family, std::size_t number,
           std::size_t count) {
  std::uint64_t operations = 0;
  for (const PhaseResult& phase : r.phases) operations += phase.operations;
  const auto per = static_cast<double>(std::max<std::uint64_t>(1, operations));
  Json one{{"name", p.point->id},
           {"family_index", family},
           {"per_family_instance_index", 0},
           {"run_name", p.point->id},
           {"run_type", "iteration"},
           {"repetitions", count},
           {"repetition_index", number},
           {"threads", p.point->workload->workers()},
           {"iterations", std::max<std::uint64_t>(1, operations)},
           {"real_time", value_of(r, "elapsed_s") * 1e9 / per},
           {"cpu_time", value_of(r, "cpu_s") * 1e9 / per},
           {"time_unit", "ns"}};
  for (const MetricValue& m : r.metrics) {
    if (!one.contains(m.name)) one[m.name] = m.value;
  }
  return one;
}

}  // namespace

std::string gbench_json(const RunResult& run) {
  Json benchmarks = Json::array();
  for (std::size_t family = 0; family < run.points.size(); ++family) {
    const PointResult& p = run.points[family];
    const auto count = static_cast<std::size_t>(std::count_if(
        p.repetitions.begin(), p.repetitions.end(), [](const Repetition& r) { return r.counted; }));
    std::size_t number = 0;
    for (const Repetition& r : p.repetitions) {
      if (r.counted) benchmarks.push_back(entry(p, r, family, number++, count));
    }
  }
  const Json all{{"context",
                  {{"date", run.started_utc},
                   {"host_name", node_name(run)},
                   {"executable", run.command.empty() ? "headrace" : run.command.front()},
                   {"num_cpus", std::max(1u, std::thread::hardware_concurrency())},
                   {"mhz_per_cpu", 0},
                   {"cpu_scaling_enabled", false},
                   {"caches", Json::array()},
                   {"load_avg", Json::array()},
                   {"library_build_type", "release"},
                   {"headrace_run", run.run_id},
                   {"headrace_version", run.build.version}}},
                 {"benchmarks", std::move(benchmarks)}};
  return json_text(all);
}

}  // namespace headrace::results
