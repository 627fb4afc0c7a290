// Runs of made-up nodes, as they are read from run files.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/fleet/fleet.h"
#include "harness/judge/statistics/draws.h"

namespace headrace::fleet {

using results::StoredMetric;
using results::StoredPoint;
using results::StoredRun;
using statistics::Draws;

/// Standard normal, by the sum of twelve.
inline double normal(Draws& draws) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += draws.share();
  return sum;
}

inline std::string name_of(int node) { return (node < 10 ? "node0" : "node") + std::to_string(node); }

/// A line of a hosts file.
inline Host host_of(int node, const std::string& rack = "", std::map<std::string, std::string> others = {}) {
  return {name_of(node), rack, "", {}, std::move(others)};
}

inline StoredRun run_of(int node, const std::vector<double>& values, const std::string& day = "2") {
  StoredRun run;
  run.id = "run-" + std::to_string(node) + "-" + day;
  run.node = name_of(node);
  run.path = run.id + "/run.json";
  run.started_utc = "2026-03-0" + day + "T12:00:00Z";
  run.config_file = "node.yaml";
  run.version = "0.1.0";
  run.summary.word = Outcome::measured;
  run.environment = {
      {"cpu.model", "EPYC"}, {"device.firmware", "1.3"}, {"memory.total", "251.4 GiB"}, {"host.name", run.node}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    StoredPoint p;
    p.id = p.workload = "w" + std::to_string(i);
    StoredMetric m;
    m.name = "bandwidth";
    m.unit = "B/s";
    m.values = {values[i]};
    m.median = m.low = m.high = values[i];
    p.metrics.push_back(m);
    run.points.push_back(p);
  }
  return run;
}

class Runs {
 public:
  Collector collector;
  Options options;

  void add(const StoredRun& run) { collector.add(run); }
  /// `count` like nodes around 1 GB/s.
  void usual(int count, std::uint64_t seed = 1) {
    Draws draws(seed);
    for (int i = 1; i <= count; ++i) add(run_of(i, {1e9 * (1 + 0.01 * normal(draws))}));
  }
  Fleet judged() { return judge(collector, {}, options); }
};

}  // namespace headrace::fleet
