// results.csv: long form, one value per row (RFC 4180).
#include <fmt/format.h>

#include "harness/base/escape.h"
#include "harness/judge/verdict/slow_parts.h"
#include "harness/results/exports.h"
#include "harness/results/parts.h"

namespace headrace::results {
namespace {

std::string params_text(const StoredPoint& point) {
  std::string out;
  for (const auto& [key, value] : point.params) out += fmt::format("{}{}={}", out.empty() ? "" : ";", key, value);
  return out;
}

std::string csv(const StoredRun& run) {
  std::string out =
      "run,node,workload,point,parameters,metric,unit,direction,repetition,value,disturbed,"
      "counted\r\n";
  for (const StoredPoint& p : run.points) {
    const std::string point = fmt::format("{},{},{},{},{}", csv_field(run.id), csv_field(run.node),
                                          csv_field(p.workload), csv_field(p.id), csv_field(params_text(p)));
    for (const StoredRepetition& r : p.each) {
      for (const auto& [name, value] : r.metrics) {
        const StoredMetric* metric = p.find(name);
        out += fmt::format("{},{},{},{},{},{},{},{}\r\n", point, csv_field(name), csv_field(metric ? metric->unit : ""),
                           metric ? to_string(metric->better) : "", r.index, value, r.disturbed, r.counted);
      }
    }
  }
  for (const Judgement& j : run.judgements) {
    const StoredPoint* point = run.find(j.point);
    if (!judging::of_a_part(j) || point == nullptr) continue;
    out += fmt::format("{},{},{},{},{},{},{},{},,{},,\r\n", csv_field(run.id), csv_field(run.node),
                       csv_field(point->workload), csv_field(point->id), csv_field(params_text(*point)),
                       csv_field(fmt::format("{} ({}): {}", j.id, j.scope, to_string(j.outcome))), csv_field(j.unit),
                       to_string(j.higher_is_better ? Better::higher : Better::lower),
                       j.measured ? fmt::format("{}", *j.measured) : "");
  }
  return out;
}

const RegisterExport csv_registered{
    50,
    {"csv", "results.csv", [](const StoredRun& run, const ExportOptions&) { return csv(run); },
     "run,node,workload,point,"}};

}  // namespace
}  // namespace headrace::results
