// A job whose needs are round numbers, and runs whose values are known.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/job/job.h"
#include "harness/judge/statistics/summary.h"
#include "harness/results/run_file.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::sizing {

/// One sample of 1 MB per step of 1 s and GPU: each GPU needs 1 MB/s.
inline constexpr const char* kJob = R"(schema: 1
job: known
cluster: {nodes: 4, gpus_per_node: 8, gpu_price: 2, mtbf: 10h, restart: 5min}
step: {time: 1s, micro_batch: 1}
dataset: {layout: files, samples: 1000, sample_size: 1MB}
loader: {workers_per_gpu: 1}
model: {parameters: 1e9}
checkpoint: {interval: 10min, stall: 10s, bytes_per_parameter: 14, restore: 60s, keep: 2}
safety: 1
)";

inline job::Job job(const std::vector<std::string>& overrides = {}) {
  const headrace::testing::TemporaryFolder folder;
  folder.write("job.yaml", kJob);
  return job::load_job(folder / "job.yaml", overrides);
}

/// Repetitions of 8 s, one every 10 s from the run's start on, `late_s` later.
inline void add_values(results::StoredRun& run, const std::string& workload, const std::string& metric,
                       const std::vector<double>& values, std::map<std::string, std::string> params = {},
                       const std::string& cache = "cold", double late_s = 0) {
  results::StoredPoint p;
  p.id = p.workload = workload;
  for (const auto& [key, v] : params) p.id += "/" + key + ":" + v;
  p.cache = cache;
  p.status = "ok";
  p.params = std::move(params);
  p.params["cache"] = cache;
  if (workload == "small_file_read" || workload == "epochs") p.params.emplace("file_size", "1000000");
  if (workload == "random_read") p.params.emplace("block_size", "1048576");
  results::StoredMetric m;
  m.name = metric;
  m.unit = "B/s";
  m.values = values;
  m.median = statistics::median(values);
  const double start = results::unix_seconds(run.started_utc).value();
  for (std::size_t i = 0; i < values.size(); ++i) {
    results::StoredRepetition r;
    r.index = static_cast<unsigned>(i);
    r.metrics[metric] = values[i];
    r.operations = 100;
    r.elapsed_s = 8;
    r.began_unix_s = start + 10.0 * static_cast<double>(i) + late_s;
    r.ended_unix_s = r.began_unix_s + 8;
    p.each.push_back(std::move(r));
  }
  p.repetitions = static_cast<unsigned>(values.size());
  p.record.id = p.id;
  p.record.workload = workload;
  for (const auto& [key, v] : p.params)
    if (key != "cache") p.record.params[key] = v;
  p.record.cache = cache == "cold" ? CacheState::cold : CacheState::asis;
  p.record.status = PointStatus::ok;
  p.record.looks = statistics::plan_looks({5, 10, 15});
  p.metrics.push_back(std::move(m));
  run.points.push_back(std::move(p));
}

/// The same with values within 1 % of `value`.
inline void add(results::StoredRun& run, const std::string& workload, const std::string& metric, double value,
                std::map<std::string, std::string> params = {}, const std::string& cache = "cold",
                int repetitions = 6) {
  std::vector<double> values;
  for (int i = 0; i < repetitions; ++i) values.push_back(value * (1 + 0.01 * (i % 3 - 1)));
  add_values(run, workload, metric, values, std::move(params), cache);
}

/// Something else ran during the first `count` repetitions.
inline void disturb(results::StoredPoint& point, std::size_t count) {
  for (std::size_t i = 0; i < point.each.size(); ++i) point.each[i].disturbed = i < count;
}
/// The first `count` repetitions were not steady.
inline void unsettle(results::StoredPoint& point, std::size_t count) {
  for (std::size_t i = 0; i < point.each.size(); ++i) point.each[i].steady = i >= count;
}
/// Another value of one repetition.
inline void put(results::StoredPoint& point, std::size_t repetition, double value) {
  for (auto& [name, old] : point.each[repetition].metrics) old = value;
  point.metrics[0].values[repetition] = value;
}

inline results::StoredRun run_of(const std::string& node = "n1", const std::string& started = "2026-01-31T12:00:00Z") {
  results::StoredRun run;
  run.id = node + "-run";
  run.node = node;
  run.started_utc = started;
  run.elapsed_s = 60;
  run.config_hash = "c";
  run.summary.word = Outcome::measured;
  return run;
}

}  // namespace headrace::sizing
