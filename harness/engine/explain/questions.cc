#include "harness/engine/explain/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "harness/base/units.h"
#include "harness/engine/explain/evidence.h"
#include "harness/job/need_kinds.h"
#include "harness/judge/verdict/part_faults.h"
#include "harness/workload/registry.h"

namespace headrace::engine {
namespace {

using judging::Question;

/// The first workload of "workload.metric" that this program has.
std::string first_known(const std::vector<std::string>& metrics) {
  for (const std::string& metric : metrics) {
    std::string workload = metric.substr(0, metric.find('.'));
    if (Registry::instance().find(workload) != nullptr) return workload;
  }
  return "";
}

Question from_need(const job::Need& need, const job::Job* job, unsigned nodes) {
  Question q;
  q.blank.id = need.id;
  q.blank.scope = job::to_string(need.scope);
  q.blank.required = need.required;
  q.blank.need = need.need;
  q.blank.unit = need.unit;
  q.blank.formula = need.formula;
  q.blank.equation = need.named;
  q.blank.substituted = need.substituted;
  q.measured_by = need.measured_by;
  q.lower_bounds = need.lower_bounds;
  q.with = need.measured_with;
  q.collective = need.collective;
  if (const auto* kind = job::find_need_kind(need.id)) q.worst_over = kind->worst_over;
  q.workload = first_known(q.measured_by);
  if (!need.cache.empty()) q.cache = parse_cache_state(need.cache);
  if (job == nullptr) return q;
  q.way = job::way_of(*job);
  const auto& cluster = job->cluster;
  if (need.scope == job::Scope::cluster && cluster.nodes > nodes) {
    q.cannot =
        fmt::format("measured on {} of {:.0f} nodes: a cluster needs to be measured together", nodes, cluster.nodes);
  }
  // Resources that are not each GPU's own are measured of the node, and shared by its GPUs.
  const bool of_gpu = job::need_kind(need.id).owner == job::Owner::gpu;
  if (need.scope == job::Scope::gpu && !of_gpu) q.parts = std::max(1.0, cluster.gpus_per_node);
  q.per_node = need.scope != job::Scope::cluster;
  q.per_process = need.scope == job::Scope::gpu && of_gpu;
  return q;
}

Question from_declared(const DeclaredNeed& need) {
  Question q;
  q.blank.id = need.id;
  q.blank.scope = "node";
  q.blank.required = q.blank.need = need.value;
  q.blank.unit = need.unit;
  q.blank.higher_is_better = need.at_least;
  q.blank.substituted = need.source;
  q.measured_by = {need.metric};
  q.with = need.with;
  // It compares GPUs with each other: a GPU that is slow at one kind of work is slow.
  if (need.metric.ends_with(".pace")) q.worst_over = judging::kEveryPoint;
  q.per_node = true;
  q.optional = need.optional;
  q.workload = first_known(q.measured_by);
  return q;
}

/// Points that answer by the same metric and are as like the job. Chance helps to decide which of them answers.
unsigned choices(const Question& q, std::span<const judging::RecordedPoint> points) {
  std::map<std::pair<std::string, double>, unsigned> alike;
  unsigned most = 1;
  for (const judging::RecordedPoint& point : points) {
    const std::string metric = judging::answering_metric(q, point);
    if (metric.empty() || !judging::answers(q, point)) continue;
    most = std::max(most, ++alike[{point.workload + "." + metric, judging::likeness(q, point).distance}]);
  }
  return most;
}

}  // namespace

std::string adopt_format_overhead(job::Job& job, std::span<const judging::RecordedPoint> points) {
  constexpr double kLittle = 0.01;
  const auto& data = job.dataset;
  if (data.layout != job::Layout::shards || data.format_overhead) return "";
  for (const judging::RecordedPoint& point : points) {
    const auto path = point.params.find("path");
    const auto* const own = path == point.params.end() ? nullptr : std::get_if<std::string>(&path->second);
    if (point.workload != "shard_stream" || own == nullptr || own->empty()) continue;
    const std::vector<double> bytes = point.values("read_bandwidth"), samples = point.values("sample_rate");
    if (bytes.empty() || samples.empty() || samples.front() <= 0) continue;
    const double stored = bytes.front() / samples.front(), added = stored - data.sample_size;
    if (added <= kLittle * data.sample_size || added > std::max(data.sample_size, job::kMostHeaders)) continue;
    job::set_format_overhead(job, added);
    return fmt::format("{} counted {} for each sample of {}: headers and padding of the shards' format are read, too",
                       point.id, compact_quantity(std::round(stored), Dimension::bytes),
                       compact_quantity(data.sample_size, Dimension::bytes));
  }
  return "";
}

std::vector<Question> questions(const Plan& plan, unsigned nodes) {
  std::vector<judging::RecordedPoint> points;
  for (const Point& p : plan.points) points.push_back(recorded(unmeasured(p)));
  std::vector<Question> all = questions(plan.job ? &*plan.job : nullptr, plan.needs, points, nodes);
  for (const DeclaredNeed& need : plan.declared_needs) {
    all.push_back(from_declared(need));
    all.back().choices = choices(all.back(), points);
  }
  return all;
}

std::vector<Question> questions(const job::Job* job, std::span<const job::Need> needs,
                                std::span<const judging::RecordedPoint> points, unsigned nodes) {
  std::vector<Question> all;
  for (const job::Need& need : needs) {
    if (need.informative) continue;
    all.push_back(from_need(need, job, nodes));
    all.back().choices = choices(all.back(), points);
  }
  return all;
}

}  // namespace headrace::engine
