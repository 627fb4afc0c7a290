#include "benches/headrace/compare_options.h"

#include <fmt/format.h>

#include "benches/headrace/shares.h"
#include "harness/analysis/comparison/gates.h"
#include "harness/base/units.h"
#include "harness/workload/registry.h"
#include "harness/workload/workload.h"

namespace headrace::cli {

void add_compare_options(Verb& verb, CompareOptions& options) {
  verb.option("--gate GLOB", options.gates,
              "Metrics that decide the exit code, as in 'shard_stream.read_bandwidth' or "
              "'*.latency_p99_ns' (repeatable); default: those that needs were judged by, else "
              "each workload's first")
      .one_value_each();
  verb.option("--differs KEY", options.differs,
              "A part of the fingerprint that differs on purpose: device, kernel.release ... "
              "(repeatable)")
      .one_value_each();
  verb.option("--across KEY", options.across, "A parameter that is compared, not joined on, as in engine (repeatable)")
      .one_value_each();
  verb.option("--delta SHARE", options.delta, "Smallest change that matters (default 5%)");
  verb.option("--delta-tail SHARE", options.delta_tail, "The same for tails (default 10%)");
  verb.option(
      "--aa FILE", options.noise,
      "Noise floor of this system (aa.json, or its folder; made by headrace run --against-itself); default: the "
      "newest one next to the runs, of the same machine, settings and program");
}

comparison::Options compare_options(const CompareOptions& given) {
  comparison::Options options;
  options.delta_rate = share_of("--delta", given.delta, options.delta_rate);
  options.delta_tail = share_of("--delta-tail", given.delta_tail, options.delta_tail);
  options.gates = given.gates;
  options.declared = given.differs;
  options.across = given.across;
  if (!given.noise.empty()) options.noise = comparison::read_noise(given.noise);
  return options;
}

void require_gates(const comparison::Options& options, std::span<const Plan* const> plans) {
  comparison::MetricNames known;
  for (const Plan* plan : plans)
    for (const Point& point : plan->points)
      for (const MetricInfo& metric :
           metric_catalogue(*point.info, point.workload->latency_parts(), as<UsesDevices>(*point.workload).devices()))
        for (const std::string& place : {std::string(point.info->name), point.id}) known[place].insert(metric.name);
  comparison::require_matches(options.gates.globs(), known);
}

}  // namespace headrace::cli
