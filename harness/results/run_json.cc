// run.json (docs/reference/run-json.md), and the two small files that hold parts of it.
#include <nlohmann/json.hpp>

#include "harness/engine/explain/evidence.h"
#include "harness/engine/explain/rehearsal.h"
#include "harness/results/expected_json.h"
#include "harness/results/json_text.h"
#include "harness/results/parts.h"
#include "harness/results/repetition_json.h"
#include "harness/results/result_store.h"

namespace headrace::results {
namespace {

using Json = nlohmann::ordered_json;

Json param(const ParamValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
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

Json step_part(const PipelineTrace::Step& s) {
  return {{"number", s.number},     {"begin_s", s.begin_s}, {"end_s", s.end_s},
          {"wait_s", s.wait_s},     {"copy_s", s.copy_s},   {"host_s", s.host_s},
          {"others_s", s.others_s}, {"save_s", s.save_s},   {"ready", s.ready}};
}

/// The steps alone; the processing of each sample is in its own trace.
Json steps_part(const PipelineTrace& t) {
  Json windows = Json::array(), first = Json::array(), slowest = Json::array();
  for (const PipelineTrace::Window& w : t.windows)
    windows.push_back({{"begin_s", w.begin_s},
                       {"end_s", w.end_s},
                       {"steps", w.steps},
                       {"ready", w.ready},
                       {"waiting", w.waiting},
                       {"copying", w.copying},
                       {"host", w.host},
                       {"saving", w.saving},
                       {"others", w.others}});
  for (const PipelineTrace::Step& s : t.first) first.push_back(step_part(s));
  for (const PipelineTrace::Step& s : t.slowest) slowest.push_back(step_part(s));
  return {{"compute_s", t.compute_s},
          {"windows", std::move(windows)},
          {"first", std::move(first)},
          {"slowest", std::move(slowest)}};
}

Json point(const PointResult& p) {
  const std::vector<std::string>& part_names = p.latency_parts;
  Json params = Json::object(), left_out = Json::object(), wrong = Json::array(), metrics = Json::array(),
       repetitions = Json::array();
  for (const auto& [key, value] : p.point->params) params[key] = param(value);
  for (const auto& [why, count] : p.left_out) left_out[why] = count;
  for (const WrongBlock& w : p.wrong_blocks) {
    wrong.push_back({{"file", w.file}, {"offset", w.offset}, {"why", w.why}});
    if (!w.part.empty()) wrong.back()["part"] = w.part;
  }
  for (const MetricSummary& m : p.metrics) metrics.push_back(json_of(m));
  for (const Repetition& r : p.repetitions) repetitions.push_back(repetition_part(r, part_names));
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
  for (const PartFault& fault : engine::faults_of(p)) one["faults"].push_back(json_of(fault));
  if (p.group) one["group"] = json_of(*p.group);
  if (p.nodes > 1) one["nodes"] = p.nodes;
  if (p.processes > 1) one["processes"] = p.processes;
  if (p.measured_again) one["measured_again"] = true;
  if (!p.missing.empty()) one["missing"] = p.missing;
  if (!p.unproven.empty()) one["unproven"] = p.unproven;
  for (const auto& [unit, alone] : p.single_run) one["single_run"][unit] = json_of(alone);
  if (p.pairs) one["pairs"] = pairs_part(*p.pairs, p.blame);
  if (p.slowest)
    one["slowest_rank"] = {
        {"rank", p.slowest->rank}, {"host", p.slowest->host}, {"times", p.slowest->times}, {"of", p.slowest->of}};
  if (p.trace && p.trace->compute_s > 0 && !p.trace->windows.empty()) one["steps"] = steps_part(*p.trace);
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

Json bounded(const Estimate& b) { return {{"value", b.value}, {"low", b.low}, {"high", b.high}}; }

Json rules(const HeldRules& held) {
  Json checks = Json::array();
  for (const RuleCheck& c : held.checks) checks.push_back({{"rule", c.rule}, {"kept", c.kept}, {"told", c.reported}});
  Json all{{"name", held.name}, {"checks", std::move(checks)}};
  const auto put = [&all](const char* name, const std::optional<BenchmarkSaves>& s) {
    if (s) all[name] = {{"count", s->count}, {"each_s", s->each_s}, {"bytes_per_s", s->bytes_per_s}};
  };
  put("saves", held.saves);
  put("reads", held.reads);
  return all;
}

Json pipeline(const Rehearsal& r) {
  Json rates{{"taken", r.rates.taken}};
  const auto put = [&rates](const char* name, const std::optional<Estimate>& rate) {
    if (rate) rates[name] = bounded(*rate);
  };
  put("loader", r.rates.loader);
  put("no_decode", r.rates.no_decode);
  put("in_memory", r.rates.in_memory);
  put("more_workers", r.rates.more_workers);
  Json all{{"point", r.point},
           {"utilization", bounded(r.utilization)},
           {"stall_fraction", r.stall},
           {"host_fraction", r.host},
           {"queue_occupancy", r.ready},
           {"limit_by_times", r.by_times},
           {"limit", headrace::to_string(r.proof.limit)},
           {"sentence", r.proof.sentence},
           {"sample_rates", std::move(rates)}};
  if (r.copies) all["copy_fraction"] = *r.copies;
  if (r.wall_clock)
    all["wall_clock"] = {{"epoch_steps", r.wall_clock->steps},
                         {"fill_s", r.wall_clock->fill_s},
                         {"utilization", r.wall_clock->utilization}};
  if (!r.calibration.empty()) all["calibration"] = r.calibration;
  if (r.decode_headroom) all["decode_headroom"] = *r.decode_headroom;
  if (r.tuning) {
    const auto json_of = [](const TriedLoader& one) {
      return Json{{"workers_per_gpu", one.workers},
                  {"prefetch_factor", one.prefetch_factor},
                  {"utilization", bounded(one.utilization)},
                  {"sample_rate", one.rate}};
    };
    Json tried = Json::array();
    for (const TriedLoader& one : r.tuning->tried) tried.push_back(json_of(one));
    all["tuning"] = {{"target", r.tuning->target}, {"tried", std::move(tried)}, {"told", r.tuning->reported}};
    if (r.tuning->advised) {
      all["tuning"]["advised"] = json_of(*r.tuning->advised);
      all["tuning"]["prefetch_bytes"] = r.tuning->memory;
      if (r.tuning->cores > 0) all["tuning"]["cores"] = r.tuning->cores;
    }
  }
  if (r.saves)
    all["checkpoints"] = {{"mode", r.saves->async ? "async" : "sync"},
                          {"utilization_without", bounded(r.saves->without)},
                          {"saves", r.saves->count},
                          {"save_fraction", r.saves->standing},
                          {"time_to_durable_s", r.saves->durable_s},
                          {"decide", r.saves->decides}};
  if (r.tier) {
    const RehearsedTier& tier = *r.tier;
    Json reported{
        {"storage_sample_rate", tier.storage}, {"fill_sample_rate", tier.filling}, {"cached_sample_rate", tier.cached}};
    if (tier.hits) reported["hit_ratio"] = *tier.hits;
    if (tier.hits_predicted) reported["hit_ratio_predicted"] = *tier.hits_predicted;
    if (tier.pays_after) reported["break_even_epochs"] = *tier.pays_after;
    if (tier.staged_pays_after) reported["break_even_staged_before"] = *tier.staged_pays_after;
    all["local_cache"] = std::move(reported);
  }
  if (r.on_gpus)
    all["gpu_decoding"] = {{"image_rate", r.on_gpus->image_rate}, {"cpu_time_per_image", r.on_gpus->cpu_time_s}};
  if (r.stalled > 0) all["stalls"] = {{"samples", r.stalled}, {"longest_s", r.longest_s}};
  if (r.nodes) {
    Json nodes{{"count", r.nodes->count},
               {"of_job", r.nodes->of_job},
               {"least_others_fraction", r.nodes->least},
               {"others_fraction", r.nodes->others},
               {"holds_back", r.nodes->holds_back}};
    if (r.nodes->slowest)
      nodes["slowest_rank"] = {{"rank", r.nodes->slowest->rank},
                               {"host", r.nodes->slowest->host},
                               {"times", r.nodes->slowest->times},
                               {"of", r.nodes->slowest->of}};
    all["nodes"] = std::move(nodes);
  }
  if (!r.predicted) return all;
  Json errors = Json::array();
  for (const Rehearsal::StageError& e : r.stage_errors)
    errors.push_back({{"stage", e.stage}, {"predicted", e.predicted}, {"rehearsed", e.rehearsed}, {"error", e.error}});
  all["prediction"] = {{"from", r.predicted_from},
                       {"storage_sample_rate", bounded(r.storage_alone)},
                       {"sample_rate", bounded(r.predicted->rate)},
                       {"utilization", bounded(r.predicted->utilization)},
                       {"formula", r.predicted->formula},
                       {"error", *r.error},
                       {"grade", r.grade},
                       {"stages", std::move(errors)}};
  return all;
}

Json rehearsal(const RunResult& run) {
  Json all = run.rehearsal ? pipeline(*run.rehearsal) : Json::object();
  all["told"] = engine::describe_rehearsal(run);
  if (run.rules) all["rules"] = rules(*run.rules);
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
  for (const judging::Question& q : run.questions) questions.push_back(json_of(q));
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
  if (run.rehearsal || run.rules) all["rehearsal"] = rehearsal(run);
  if (!run.parts.empty()) all["parts"] = parts_part(run.parts);
  if (!run.expected.empty()) all["expected"] = expected_part(run.expected);
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
