// run.json (docs/run-files.md), and the two small files that hold parts of it.
#include <fmt/chrono.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "harness/results/json_text.h"
#include "harness/results/pairs_json.h"
#include "harness/results/parts.h"
#include "harness/results/result_store.h"

namespace headrace::results {
namespace {

using Json = nlohmann::ordered_json;

Json param(const ParamValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

Json histogram(const Histogram& h) {
  Json buckets = Json::array();
  for (const Histogram::Bucket& b : h.nonzero()) buckets.push_back({b.index, b.count});
  return {{"min_ns", h.min_ns()}, {"max_ns", h.max_ns()}, {"buckets", std::move(buckets)}};
}

Json series(const std::vector<SeriesPoint>& points) {
  Json time = Json::array(), bytes = Json::array(), operations = Json::array(), p99 = Json::array();
  for (const SeriesPoint& p : points) {
    time.push_back(p.time_s);
    bytes.push_back(p.bytes_per_s);
    operations.push_back(p.operations_per_s);
    p99.push_back(p.latency_p99_ns);
  }
  return {{"time_s", time}, {"bytes_per_s", bytes}, {"operations_per_s", operations}, {"latency_p99_ns", p99}};
}

Json background(const BackgroundResult& b) {
  return {{"begin_s", b.begin_s},       {"end_s", b.end_s},   {"bytes", b.bytes},
          {"operations", b.operations}, {"errors", b.errors}, {"latency", histogram(b.latency)},
          {"series", series(b.series)}};
}

Json phase(const PhaseResult& p, const std::vector<std::string>& part_names) {
  Json parts = Json::object();
  for (std::size_t i = 0; i < p.parts.size() && i < part_names.size(); ++i)
    parts[part_names[i]] = histogram(p.parts[i]);
  Json one{{"name", p.name},
           {"elapsed_s", p.elapsed_s},
           {"first_finish_s", p.first_finish_s},
           {"cpu_s", p.cpu_s},
           {"bytes", p.bytes},
           {"operations", p.operations},
           {"errors", p.errors},
           {"storage_bytes", p.storage_bytes},
           {"device_bytes", p.device_bytes},
           {"steady_from_s", p.steady_from_s},
           {"latency", histogram(p.latency)},
           {"parts", std::move(parts)},
           {"worker_finish_s", p.worker_finish_s},
           {"worker_bytes", p.worker_bytes},
           {"series", series(p.series)}};
  if (p.background) one["background"] = background(*p.background);
  if (!p.ranks.empty()) {
    Json ranks = Json::array();
    for (const RankPhase& r : p.ranks)
      ranks.push_back({{"rank", r.rank},
                       {"elapsed_s", r.elapsed_s},
                       {"first_finish_s", r.first_finish_s},
                       {"bytes", r.bytes},
                       {"operations", r.operations},
                       {"errors", r.errors}});
    one["ranks"] = std::move(ranks);
    if (p.slowest_rank >= 0) one["slowest_rank"] = p.slowest_rank;
    one["slowest_series"] = series(p.slowest_series);
  }
  return one;
}

Json cache(const CacheProof& c) {
  return {{"declared", headrace::to_string(c.declared)},
          {"required", c.required},
          {"proven", c.proven},
          {"why", c.why},
          {"resident_before", c.resident_before},
          {"resident_after", c.resident_after},
          {"delivered_bytes", c.delivered_bytes},
          {"storage_bytes", c.storage_bytes},
          {"device_bytes", c.device_bytes},
          {"counter", c.counter},
          {"method", c.method}};
}

Json disturbance(const Disturbance& d) {
  return {{"disturbed", d.disturbed},
          {"why", d.why},
          {"foreign_bytes", d.foreign_bytes},
          {"cpu_steal", d.cpu_steal},
          {"io_pressure", d.io_pressure},
          {"cpu_pressure", d.cpu_pressure},
          {"memory_pressure", d.memory_pressure},
          {"throttled_s", d.throttled_s},
          {"foreign_cpu", d.foreign_cpu},
          {"probe_before_ns", d.probe_before_ns},
          {"probe_after_ns", d.probe_after_ns}};
}

/// "2026-01-31T12:00:00.250Z": text, for a report page rounds numbers to seven digits.
std::string utc(double unix_s) {
  const auto ms = static_cast<std::int64_t>(std::llround(unix_s * 1e3));
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

Json repetition(const Repetition& r, const std::vector<std::string>& part_names) {
  Json metrics = Json::object(), seconds = Json::object(), phases = Json::array();
  for (const MetricValue& m : r.metrics) {
    metrics[m.name] = m.value;
    if (m.seconds > 0) seconds[m.name] = m.seconds;
  }
  for (const PhaseResult& p : r.phases) phases.push_back(phase(p, part_names));
  Json one{{"index", r.index},           {"look", r.look},
           {"counted", r.counted},       {"status", to_string(r.status)},
           {"error", r.error},           {"steady", r.steady},
           {"steady_why", r.steady_why}, {"metrics", std::move(metrics)},
           {"cache", cache(r.cache)},    {"disturbance", disturbance(r.disturbance)},
           {"phases", std::move(phases)}};
  if (r.began_unix_s > 0) {
    one["began_utc"] = utc(r.began_unix_s);
    one["timed_s"] = std::max(0.0, r.ended_unix_s - r.began_unix_s);
  }
  if (r.pairs) one["pairs"] = pairs_part(*r.pairs);
  if (!seconds.empty()) one["metric_seconds"] = std::move(seconds);
  return one;
}

Json fitted(const Fitted& f) {
  Json one{{"value", f.value}, {"low", f.low}};
  if (f.high) one["high"] = *f.high;
  return one;
}

Json collective(const CollectiveCurve& c) {
  Json sizes = Json::array(), job = Json::array();
  for (std::size_t i = 0; i < c.times.size(); ++i)
    sizes.push_back({{"point", c.points[i]},
                     {"message_bytes", c.times[i].first},
                     {"measured_s", c.times[i].second},
                     {"fitted_s", c.fit.seconds(c.times[i].first)}});
  for (const JobPrediction& p : c.job) {
    Json one{{"need", p.need},         {"message_bytes", p.message_bytes},
             {"ranks", p.ranks},       {"calls", p.calls},
             {"ring_s", p.ring_s},     {"step_s", p.step_s},
             {"hidden_s", p.hidden_s}, {"exposed_s", p.exposed_s},
             {"busbw", p.busbw},       {"busbw_required", p.busbw_required}};
    if (p.tree_s) one["tree_s"] = *p.tree_s;
    if (p.crossover_bytes) one["crossover_bytes"] = *p.crossover_bytes;
    job.push_back(std::move(one));
  }
  Json one{{"workload", c.workload},
           {"ranks", c.ranks},
           {"fixed_s", fitted(c.fit.fixed_s)},
           {"bytes_per_s", fitted(c.fit.bytes_per_s)},
           {"worst_error", c.fit.worst_error},
           {"hop_s", fitted(c.link.alpha_s)},
           {"link_bytes_per_s", fitted(c.link.bytes_per_s)},
           {"sizes", std::move(sizes)},
           {"job", std::move(job)}};
  if (const auto& f = c.fabric) {
    one["fabric"] = {{"message_bytes", f->message_bytes},     {"intra_bytes_per_s", f->intra_bytes_per_s},
                     {"nic_bytes_per_s", f->nic_bytes_per_s}, {"nic_under_load", f->nic_under_load},
                     {"two_level_s", f->two_level_s},         {"multirail_s", f->multirail_s}};
    if (f->nics) {
      one["fabric"]["nic_efficiency"] = *f->nic_efficiency;
      one["fabric"]["nics"] = *f->nics;
    }
  }
  return one;
}

Json metric(const MetricSummary& m) {
  Json one{{"name", m.name},
           {"unit", m.unit},
           {"better", to_string(m.better)},
           {"description", m.description},
           {"median", m.median},
           {"low", m.interval.low},
           {"high", m.interval.high},
           {"is_range", m.interval.is_range},
           {"values", m.values},
           {"too_few_operations", m.too_few_operations}};
  if (m.mean_over_time) one["mean_over_time"] = *m.mean_over_time;
  return one;
}

Json single_run(const statistics::SingleRun& alone) {
  return {{"usable", alone.usable}, {"mean", alone.mean},       {"low", alone.low},
          {"high", alone.high},     {"batches", alone.batches}, {"correlation_time", alone.correlation_time}};
}

Json question(const judging::Question& q) {
  Json with = Json::array();
  for (const requirements::JobParameter& p : q.with)
    with.push_back({{"name", p.name}, {"key", p.key}, {"value", p.value}});
  Json one{{"id", q.blank.id},
           {"scope", q.blank.scope},
           {"direction", q.blank.higher_is_better ? "at_least" : "at_most"},
           {"required", q.blank.required},
           {"need", q.blank.need},
           {"unit", q.blank.unit},
           {"formula", q.blank.formula},
           {"equation", q.blank.equation},
           {"substituted", q.blank.substituted},
           {"measured_by", q.measured_by},
           {"workload", q.workload},
           {"with", std::move(with)},
           {"parts", q.parts},
           {"per_node", q.per_node},
           {"per_process", q.per_process},
           {"lower_bounds", q.lower_bounds},
           {"choices", q.choices},
           {"cannot", q.cannot}};
  if (q.cache) one["cache"] = headrace::to_string(*q.cache);
  if (const auto& c = q.collective)
    one["collective"] = {{"message", c->message}, {"ranks", c->ranks},       {"stride", c->stride}, {"nodes", c->nodes},
                         {"wire", c->wire},       {"hidden_s", c->hidden_s}, {"times", c->times}};
  return one;
}

Json point(const PointResult& p) {
  const std::vector<std::string>& part_names = p.latency_parts;
  Json params = Json::object(), left_out = Json::object(), wrong = Json::array(), metrics = Json::array(),
       repetitions = Json::array();
  for (const auto& [key, value] : p.point->params) params[key] = param(value);
  for (const auto& [why, count] : p.left_out) left_out[why] = count;
  for (const WrongBlock& w : p.wrong_blocks) wrong.push_back({{"file", w.file}, {"offset", w.offset}, {"why", w.why}});
  for (const MetricSummary& m : p.metrics) metrics.push_back(metric(m));
  for (const Repetition& r : p.repetitions) repetitions.push_back(repetition(r, part_names));
  Json stages = Json::array();
  for (const StageSpan& s : p.stages)
    stages.push_back({{"item", s.item}, {"stage", s.stage}, {"begin_s", s.begin_s}, {"end_s", s.end_s}});
  Json one{{"id", p.point->id},
           {"workload", p.point->info->name},
           {"description", p.point->info->description},
           {"params", std::move(params)},
           {"cache", headrace::to_string(p.point->cache)},
           {"workers", p.workers},
           {"deterministic", p.deterministic},
           {"across_ranks", to_string(p.across_ranks)},
           {"status", to_string(p.status)},
           {"reason", p.reason},
           {"notes", p.notes},
           {"left_out", std::move(left_out)},
           {"verified", p.verified},
           {"wrong_blocks", std::move(wrong)},
           {"first_touch",
            {{"needed_bytes", p.first_touch.needed_bytes},
             {"touched_bytes", p.first_touch.touched_bytes},
             {"elapsed_s", p.first_touch.elapsed_s}}},
           {"elapsed_s", p.elapsed_s},
           {"looks", p.looks.looks.empty() ? p.point->repeat.looks : p.looks.looks},
           {"ranks", p.looks.ranks},
           {"alphas", p.looks.alphas},
           {"latency_parts", part_names},
           {"metrics", std::move(metrics)},
           {"repetitions", std::move(repetitions)}};
  if (!p.facts.empty()) {
    Json facts = Json::object();
    for (const auto& [name, value] : p.facts) facts[name] = value;
    one["facts"] = std::move(facts);
  }
  if (p.group) one["group"] = {{"ranks", p.group->ranks}, {"nodes", p.group->nodes}, {"groups", p.group->groups}};
  if (p.nodes > 1) one["nodes"] = p.nodes;
  if (p.processes > 1) one["processes"] = p.processes;
  if (p.measured_again) one["measured_again"] = true;
  if (!p.missing.empty()) one["missing"] = p.missing;
  for (const auto& [unit, alone] : p.single_run) one["single_run"][unit] = single_run(alone);
  if (p.pairs) one["pairs"] = pairs_part(*p.pairs, p.blame);
  if (p.slowest)
    one["slowest_rank"] = {
        {"rank", p.slowest->rank}, {"host", p.slowest->host}, {"times", p.slowest->times}, {"of", p.slowest->of}};
  if (!stages.empty()) one["stages"] = std::move(stages);  // of pipelines alone
  return one;
}

Json scaling(const ScalingCurve& curve) {
  Json at = Json::array();
  for (const ScalingCurve::At& one : curve.at)
    at.push_back({{"clients", one.clients},
                  {"point", one.point},
                  {"rate", one.rate},
                  {"expected", one.expected},
                  {"efficiency", one.efficiency}});
  Json all{{"workload", curve.workload}, {"metric", curve.metric},         {"unit", curve.unit},
           {"at", std::move(at)},        {"per_client", curve.per_client}, {"saturated", curve.saturated},
           {"most", curve.most},         {"finding", curve.finding}};
  if (curve.saturated) {
    all["saturation_clients"] = curve.saturation_clients;
    all["reached_by"] = curve.reached_by;
    all["formula"] = "G7";
    all["substituted"] = curve.substituted;
  }
  return all;
}

}  // namespace

std::string run_json(const RunResult& run) {
  Json all = head(run, "headrace.run");
  all["run"] = run_part(run);
  if (run.plan->job) {
    Json values = Json::object();
    for (const auto& [key, value] : run.plan->job->values) values[key] = value;
    all["job"] = {{"name", run.plan->job->name},
                  {"description", run.plan->job->description},
                  {"safety", run.plan->job->safety},
                  {"values", std::move(values)}};
  }
  all["not_asked"] = run.plan->not_asked;
  all["summary"] = summary_part(run.summary);
  all["judgements"] = judgements_part(run);
  Json questions = Json::array();
  for (const judging::Question& q : run.questions) questions.push_back(question(q));
  all["questions"] = std::move(questions);
  Json points = Json::array();
  for (const PointResult& p : run.points) points.push_back(point(p));
  all["points"] = std::move(points);
  if (!run.collectives.empty()) {
    Json curves = Json::array();
    for (const CollectiveCurve& c : run.collectives) curves.push_back(collective(c));
    all["collectives"] = std::move(curves);
  }
  if (!run.scaling.empty()) {
    all["scaling"] = Json::array();
    for (const ScalingCurve& curve : run.scaling) all["scaling"].push_back(scaling(curve));
  }
  all["environment"] = environment_part(run.environment);
  if (run.noise) all["noise_floor"] = noise_part(*run.noise);
  return json_text(all);
}

std::string verdict_json(const RunResult& run) {
  Json all = head(run, "headrace.verdict");
  all["run"] = run_part(run);
  all["summary"] = summary_part(run.summary);
  all["judgements"] = judgements_part(run);
  return json_text(all);
}

std::string env_json(const RunResult& run) {
  Json all = head(run, "headrace.environment");
  all["run"] = {{"id", run.run_id}, {"started_utc", run.started_utc}, {"node", node_name(run)}};
  all["environment"] = environment_part(run.environment);
  return json_text(all);
}

}  // namespace headrace::results
