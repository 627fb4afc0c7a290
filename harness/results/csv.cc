// results.csv: long form, one value per row (RFC 4180).
#include <fmt/format.h>

#include <map>

#include "harness/results/escape.h"
#include "harness/results/parts.h"
#include "harness/results/result_store.h"

namespace headrace::results {
namespace {

std::string params_text(const Point& point) {
  std::string out;
  for (const auto& [key, value] : point.params) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ";", key, param_text(value));
  }
  return out;
}

}  // namespace

std::string csv(const RunResult& run) {
  std::string out =
      "run,node,workload,point,parameters,metric,unit,direction,repetition,value,disturbed,"
      "counted\r\n";
  for (const PointResult& p : run.points) {
    std::map<std::string, MetricInfo> infos;
    for (MetricInfo& m : metric_catalogue(*p.point->info, p.point->workload->latency_parts(),
                                         p.point->workload->devices())) {
      infos.emplace(m.name, std::move(m));
    }
    const std::string point = fmt::format("{},{},{},{},{}", csv_field(run.run_id),
                                          csv_field(node_name(run)), csv_field(p.point->info->name),
                                          csv_field(p.point->id), csv_field(params_text(*p.point)));
    for (const Repetition& r : p.repetitions) {
      for (const MetricValue& m : r.metrics) {
        const MetricInfo& info = infos[m.name];
        out += fmt::format("{},{},{},{},{},{},{},{}\r\n", point, csv_field(m.name),
                           csv_field(info.unit), to_string(info.better), r.index, m.value,
                           r.disturbance.disturbed, r.counted);
      }
    }
  }
  return out;
}

}  // namespace headrace::results
