// Questions, evidence, answers.
#include "harness/engine/judging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/engine/evidence.h"
#include "harness/statistics/summary.h"
#include "harness/named_value.h"
#include "harness/units.h"

namespace headrace::engine {
namespace {

Question from_need(const requirements::Need& need, const Plan& plan, unsigned nodes) {
  Question q;
  q.blank.id = need.id;
  q.blank.scope = requirements::to_string(need.scope);
  q.blank.required = need.required;
  q.blank.need = need.need;
  q.blank.unit = need.unit;
  q.blank.formula = need.formula;
  q.blank.equation = need.equation;
  q.blank.substituted = need.substituted;
  q.measured_by = need.measured_by;
  q.with = need.measured_with;
  q.collective = need.collective;
  if (!need.cache.empty()) q.cache = parse_cache_state(need.cache);
  if (!plan.job) return q;
  const auto& cluster = plan.job->cluster;
  if (need.scope == requirements::Scope::cluster && cluster.nodes > nodes) {
    q.cannot = fmt::format("measured on {} of {:.0f} nodes: a cluster needs to be measured together",
                           nodes, cluster.nodes);
  }
  // Storage and host workloads measure the node, which its GPUs share; GPU and network ones measure
  // per GPU.
  const bool of_node = need.id.starts_with("ingest.") || need.id.starts_with("checkpoint.");
  if (need.scope == requirements::Scope::gpu && of_node)
    q.parts = std::max(1.0, cluster.gpus_per_node);
  q.per_node = need.scope != requirements::Scope::cluster;
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
  return q;
}

const MetricSummary* find_metric(const PointResult& result, std::string_view name) {
  for (const MetricSummary& m : result.metrics) {
    if (m.name == name) return &m;
  }
  return nullptr;
}

bool better(const Question& q, double a, double b) {
  return q.blank.higher_is_better ? a > b : a < b;
}

void skip(Judgement& j, std::string why, std::string next) {
  j.outcome = Outcome::skipped;
  j.explanation = std::move(why);
  j.next_step = std::move(next);
}

/// How well a point's groups are the job's.
enum class Fit { none, close, same };

Fit fit(const requirements::JobCollective& c, const Point& point) {
  const auto given = [&](const char* name, ParamValue fallback) {
    const auto at = point.params.find(name);
    return at == point.params.end() ? fallback : at->second;
  };
  const auto is = [&](const char* name, double value) {
    return given(name, std::uint64_t{0}) == ParamValue(static_cast<std::uint64_t>(value));
  };
  if (!is("message_size", static_cast<double>(c.message_size()))) return Fit::none;
  if (!is("group_size", 0))
    return is("group_size", c.ranks) && is("group_stride", c.stride) ? Fit::same : Fit::none;
  // All of them in one group; what lies between those, no_answer() tells.
  const ParamValue kind = given("group", std::string("all"));
  return kind == ParamValue(std::string("all")) ||
                 kind == ParamValue(std::string(c.nodes > 1 ? "per_rail" : "intra_node"))
             ? Fit::close
             : Fit::none;
}

bool has(const Point& point, const requirements::JobParameter& wanted) {
  const auto at = point.params.find(wanted.name);
  const double* value = at == point.params.end() ? nullptr : std::get_if<double>(&at->second);
  constexpr double kRounding = 1e-9;  // of what was written as text
  return value != nullptr && std::abs(*value - wanted.value) <= kRounding * wanted.value;
}

std::string workload_of(const std::string& metric) { return metric.substr(0, metric.find('.')); }

/// Nothing measured it: says why, and what would.
Judgement unanswered(const Question& q, std::span<const PointResult> points) {
  Judgement j = q.blank;
  for (const PointResult& p : points) {
    if (answering_metric(q, *p.point).empty()) continue;
    j.point = p.point->id;
    if (p.status == PointStatus::error) {
      j.outcome = Outcome::error;
      j.explanation = fmt::format("{} failed: {}", p.point->id, p.reason);
      j.next_step =
          fmt::format("mend that, then run the same command with --only '{}'", p.point->id);
    } else if (p.status == PointStatus::skipped) {
      skip(j, fmt::format("{} was skipped: {}", p.point->id, p.reason),
           "headrace doctor tells what is missing and how to get it");
    } else if (const std::string why = no_answer(q, p); !why.empty()) {
      skip(j, fmt::format("{} {}.", p.point->id, why),
           q.collective->nodes > 1
               ? "start ranks on several nodes: mpirun -n N --hostfile HOSTS headrace qualify ..."
               : fmt::format("add '- {{use: {}, message_size: need, group: need}}' to the "
                             "configuration's workloads",
                             p.point->params.contains("group") ? std::string(p.point->info->name)
                                                               : workload_of(q.measured_by.front())));
    } else if (p.status == PointStatus::ok) {
      const std::string missing = p.point->workload->why_missing(answering_metric(q, *p.point));
      skip(j, fmt::format("{} did not report it{}{}.", p.point->id, missing.empty() ? "" : ": ", missing), "");
    } else {
      skip(j, fmt::format("{} was not measured: the run ended before.", p.point->id),
           fmt::format("run the same command with --only '{}'", p.point->id));
    }
    return j;
  }
  std::vector<std::string> known;
  for (const std::string& metric : q.measured_by) {
    const std::string workload = workload_of(metric);
    if (Registry::instance().find(workload) != nullptr) known.push_back(workload);
  }
  if (known.empty()) {
    skip(j, "This version of headrace has no workload that measures it.", "");
  } else {
    std::string size = q.collective ? ", message_size: need, group: need" : "";
    for (const requirements::JobParameter& p : q.with)
      size += fmt::format(", {}: \"${{job.{}}}\"", p.name, p.key);
    const std::string cache = size + (q.cache ? fmt::format(", cache: {}", to_string(*q.cache)) : "");
    skip(j, "Nothing in this configuration measures it.",
         fmt::format("add '- {{use: {}{}}}' to the configuration's workloads", known.front(),
                     cache));
  }
  return j;
}

}  // namespace

std::vector<Question> questions(const Plan& plan, unsigned nodes) {
  std::vector<Question> all;
  for (const requirements::Need& need : plan.needs) {
    if (!need.informative) all.push_back(from_need(need, plan, nodes));
  }
  for (const DeclaredNeed& need : plan.declared_needs) all.push_back(from_declared(need));
  return all;
}

std::string answering_metric(const Question& q, const Point& point) {
  if (!q.cannot.empty() || (q.cache && *q.cache != point.cache)) return "";
  if (q.collective && fit(*q.collective, point) == Fit::none) return "";
  if (!std::all_of(q.with.begin(), q.with.end(), [&](const auto& p) { return has(point, p); })) return "";
  for (const std::string& metric : q.measured_by) {
    if (workload_of(metric) == point.info->name) return metric.substr(point.info->name.size() + 1);
  }
  return "";
}

std::string no_answer(const Question& q, const PointResult& result) {
  if (!q.collective || !result.group) return "";
  const bool leave = q.collective->nodes > 1, left = result.group->nodes > 1;
  if (leave == left) return "";
  return leave ? fmt::format("was measured within one node; the job's groups of {:.0f} ranks lie on {:.0f}",
                             q.collective->ranks, q.collective->nodes)
               : fmt::format("was measured between nodes; the job's groups of {:.0f} ranks lie within one",
                             q.collective->ranks);
}

double parts(const Question& q, const PointResult& result) {
  const bool adds = result.point->workload->across_ranks() == AcrossRanks::add;
  const bool rate = q.blank.unit.ends_with("/s");
  return q.per_node && adds && rate ? q.parts * result.nodes : q.parts;
}

Answer answer(const Question& q, const PointResult& result, unsigned next_look) {
  Answer a;
  Judgement& j = a.judgement;
  j = q.blank;
  const std::string name = answering_metric(q, *result.point);
  j.point = result.point->id;
  j.metric = fmt::format("{}.{}", result.point->info->name, name);
  const MetricSummary* metric = find_metric(result, name);
  std::vector<double> values = metric != nullptr ? metric->values : std::vector<double>{};
  const double shares = parts(q, result);
  for (double& v : values) v /= shares;
  Evidence e = gather(result, q.blank.unit, values);
  e.next_look = next_look;
  e.too_few_operations = metric != nullptr && metric->too_few_operations;
  judge(e, j);
  if (q.collective && result.group && j.measured && q.collective->ranks != result.group->ranks)
    j.explanation += fmt::format(" Measured in groups of {} ranks on {} node{}; the job's have {:.0f} on {:.0f}.",
                                 result.group->ranks, result.group->nodes, result.group->nodes == 1 ? "" : "s",
                                 q.collective->ranks, q.collective->nodes);
  a.undecided = undecided(e, j);
  return a;
}

std::vector<Judgement> answer_all(std::span<const Question> all,
                                  std::span<const PointResult> points) {
  std::vector<Judgement> judgements;
  for (const Question& q : all) {
    if (!q.cannot.empty()) {
      judgements.push_back(q.blank);
      skip(judgements.back(), q.cannot, "");
      continue;
    }
    const PointResult* best = nullptr;
    double best_median = 0;
    Fit best_fit = Fit::none;
    for (const PointResult& p : points) {
      if (p.status != PointStatus::ok && p.status != PointStatus::interrupted) continue;
      const MetricSummary* metric = find_metric(p, answering_metric(q, *p.point));
      if (metric == nullptr || !no_answer(q, p).empty()) continue;
      const Fit its = q.collective ? fit(*q.collective, *p.point) : Fit::close;
      if (its < best_fit || (its == best_fit && !better(q, metric->median, best_median))) continue;
      best = &p;
      best_median = metric->median;
      best_fit = its;
    }
    judgements.push_back(best != nullptr ? answer(q, *best, 0).judgement : unanswered(q, points));
  }
  sort_worst_first(judgements);
  return judgements;
}

void confirm(std::span<const Repetition> fresh, double shares, Judgement& j) {
  const std::string name = j.metric.substr(j.metric.find('.') + 1);
  std::vector<double> values;
  for (const Repetition& r : fresh) {
    if (r.status != RepetitionStatus::ok) continue;
    for (const MetricValue& v : r.metrics) {
      if (v.name == name) values.push_back(v.value / shares);
    }
  }
  if (values.empty()) {
    j.explanation += " It could not be measured again.";
    return;
  }
  const double again = statistics::median(values);
  const bool meets = j.higher_is_better ? again >= j.need : again <= j.need;
  const auto shown = [&j](double value) {
    return format_named(value, j.unit, j.id);
  };
  const std::string text = shown(again);
  if (!meets) {
    j.explanation += fmt::format(" Measured again after a rest: {}.", text);
    return;
  }
  j.outcome = Outcome::inconclusive;
  j.reason = Reason::straddles;
  j.explanation = fmt::format(
      "{} repetitions missed the need of {} with {}, but {} taken after a rest gave {}.",
      j.repetitions, shown(j.need), shown(*j.measured), values.size(), text);
  j.next_step = fmt::format(
      "something changes from minute to minute: compare the repetitions in report.html, then run "
      "the same command with --only '{}'",
      j.point);
}

}  // namespace headrace::engine
