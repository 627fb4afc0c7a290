// size.json (docs/reference/size-json.md).
#include <nlohmann/json.hpp>

#include "harness/analysis/sizing/sizing.h"
#include "harness/base/version.h"
#include "harness/results/json_text.h"
#include "harness/results/parts.h"
#include "harness/results/result_store.h"

namespace headrace::sizing {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& json, const char* key, const std::optional<double>& value) {
  if (value) json[key] = *value;
}

void put(Json& json, const Derived& d) {
  if (d.equation.empty()) return;
  json["formula"] = d.formula;
  json["equation"] = d.equation;
  json["substituted"] = d.substituted;
}

Json bounded(const Bounded& b) { return {{"median", b.mean}, {"low", b.low}, {"high", b.high}}; }

Json job(const Sizing& s) {
  return {{"name", s.job.name},
          {"description", s.job.description},
          {"file", s.job_file},
          {"nodes", s.job.cluster.nodes},
          {"gpus_per_node", s.job.cluster.gpus_per_node},
          {"gpus", s.job.cluster.gpus()},
          {"safety", s.job.safety},
          {"values", Json(s.job.values)}};
}

Json runs(const Sizing& s) {
  Json all = Json::array();
  for (const Session& session : s.sessions)
    for (const results::StoredRun* run : session)
      all.push_back({{"run", run->id},
                     {"path", run->path},
                     {"node", run->node},
                     {"started_utc", run->started_utc},
                     {"config_hash", run->config_hash},
                     {"clients", session.size()},
                     {"word", run->summary.word}});
  return all;
}

Json phase(const Phase& p) {
  Json demand{{"required", p.demand.required},
              {"need", p.demand.need},
              {"per_gpu", p.demand.per_gpu},
              {"grows_with_gpus", p.demand.grows_with_gpus}};
  put(demand, p.demand.from);
  Json supply{
      {"median", p.supply.value.mean},      {"low", p.supply.value.low},     {"high", p.supply.value.high},
      {"is_range", p.supply.is_range},      {"clients", p.supply.clients},   {"per_client", p.supply.per_client},
      {"n", p.supply.repetitions},          {"sessions", p.supply.sessions}, {"differs", p.supply.differs},
      {"basis", to_string(p.supply.basis)}, {"run", p.supply.run},           {"point", p.supply.point},
      {"metric", p.supply.metric}};
  put(supply, p.supply.from);
  if (p.is_expected()) supply["extrapolated_from"] = p.measured_on();
  Json one{{"phase", p.phase},
           {"title", p.title},
           {"need", p.need},
           {"unit", p.unit},
           {"judged", true},
           {"nodes", p.nodes},
           {"gpus", p.gpus},
           {"local", p.local},
           {"demand", std::move(demand)},
           {"supply", std::move(supply)},
           {"outcome", headrace::to_string(p.outcome)},
           {"reason", p.reason},
           {"headroom", p.headroom.mean},
           {"headroom_low", p.headroom.low},
           {"headroom_high", p.headroom.high}};
  if (p.gpus_fed) {
    one["gpus_fed"] = bounded(*p.gpus_fed);
    put(one["gpus_fed"], p.fed_from);
  }
  one["explanation"] = p.explanation;
  one["next_step"] = p.next_step;
  return one;
}

Json scaling(const Scaling& s) {
  Json json{{"phase", s.phase},      {"unit", s.unit},     {"measured_to_gpus", s.measured_to_gpus},
            {"gpus", s.gpus},        {"supply", s.supply}, {"supply_low", s.low},
            {"supply_high", s.high}, {"demand", s.demand}, {"extrapolated", s.extrapolated}};
  put(json, "crossing", s.crossing);
  return json;
}

Json capacity(const Capacity& c) {
  Json parts = Json::array();
  for (const CapacityPart& part : c.parts) {
    Json one{{"what", part.what}, {"bytes", part.bytes}};
    put(one, part.from);
    parts.push_back(std::move(one));
  }
  Json json{{"parts", std::move(parts)}, {"needed", c.needed}};
  put(json, "usable", c.usable);
  put(json, "size", c.size);
  json["outcome"] = headrace::to_string(c.outcome);
  json["explanation"] = c.explanation;
  return json;
}

Json calendar(const Calendar& c) {
  Json json{{"async", c.async},     {"interval_s", c.interval_s},           {"save_s", c.save_s},
            {"stall_s", c.stall_s}, {"stall_allowed_s", c.stall_allowed_s}, {"stall_basis", c.stall_basis}};
  put(json, "restore_s", c.restore_s);
  put(json, "mtbf_s", c.mtbf_s);
  put(json, "young_s", c.young_s);
  put(json, "daly_s", c.daly_s);
  put(json, "lost", c.lost);
  put(json, "goodput", c.goodput);
  if (!c.tradeoff.empty()) {
    Json interval = Json::array(), stall = Json::array(), rework = Json::array(), lost = Json::array();
    for (const Calendar::Point& p : c.tradeoff) {
      interval.push_back(p.interval_s);
      stall.push_back(p.stall);
      rework.push_back(p.rework);
      lost.push_back(p.lost);
    }
    json["tradeoff"] = {{"interval_s", interval}, {"stall", stall}, {"rework", rework}, {"lost", lost}};
  }
  put(json, "best_interval_s", c.best_interval_s);
  return json;
}

Json starvation(const Starvation& s) {
  Json json{{"utilization", s.utilization}, {"phase", s.phase}};
  if (s.wall_clock)
    json.update({{"epoch_steps", s.wall_clock->steps},
                 {"fill_s", s.wall_clock->fill_s},
                 {"wall_clock_utilization", s.wall_clock->utilization}});
  put(json, "gpu_price_usd_per_hour", s.price_usd_per_h);
  put(json, "cost_usd_per_hour", s.cost_usd_per_h);
  put(json, "cost_total_usd", s.cost_total_usd);
  put(json, s.from);
  return json;
}

Json fix(const Fix& f) {
  Json json{{"fix", f.fix}, {"title", f.title}, {"phase", f.phase}};
  if (f.phase_headroom) json["phase_headroom"] = bounded(*f.phase_headroom);
  if (f.gpus_fed) {
    json["gpus_fed"] = f.gpus_fed->mean;
    json["low"] = f.gpus_fed->low;
    json["high"] = f.gpus_fed->high;
  }
  if (f.phase_gpus_fed) json["phase_gpus_fed"] = bounded(*f.phase_gpus_fed);
  json["capped"] = f.capped;
  json["basis"] = f.basis ? std::string(to_string(*f.basis)) : "";
  json["built_on"] = f.built_on;
  put(json, f.from);
  json["set"] = f.set;
  json["command"] = f.command;
  json["explanation"] = f.explanation;
  return json;
}

Json assumption(const Assumption& a) {
  Json json{{"assumption", a.key}, {"unit", a.unit}, {"value", a.value}};
  put(json, "flips_at", a.flips_at);
  json["values"] = a.values;
  json["headroom"] = a.headroom;
  return json;
}

template <class T>
Json list(const std::vector<T>& items, Json (*one)(const T&)) {
  Json all = Json::array();
  for (const T& item : items) all.push_back(one(item));
  return all;
}

}  // namespace

std::string sizing_json(const Sizing& s) {
  Json all{{"schema", results::kSchema},
           {"kind", "headrace.size"},
           {"headrace", {{"version", kVersion}, {"revision", kRevision}, {"compiler", kCompiler}}}};
  all["job"] = job(s);
  all["runs"] = runs(s);
  all["summary"] = {{"word", s.word}, {"exit_code", s.exit_code}};
  if (s.gpus_fed)
    all["summary"].update({{"gpus_fed", s.gpus_fed->mean}, {"low", s.gpus_fed->low}, {"high", s.gpus_fed->high}});
  all["summary"].update({{"gpus", s.job.cluster.gpus()},
                         {"measured_nodes", s.measured_nodes},
                         {"basis", to_string(s.basis)},
                         {"phase", s.limiting},
                         {"sentence", s.sentence}});
  if (!s.samples.empty()) all["summary"]["samples"] = s.samples;
  if (s.noise) all["noise_floor"] = results::noise_part(*s.noise);
  all["phases"] = list(s.phases, phase);
  all["scaling"] = list(s.scaling, scaling);
  all["capacity"] = capacity(s.capacity);
  if (s.calendar) all["calendar"] = calendar(*s.calendar);
  all["cycle"] = Json::array();
  for (const Stretch& stretch : s.cycle)
    all["cycle"].push_back({{"what", stretch.what}, {"from_s", stretch.from_s}, {"to_s", stretch.to_s}});
  if (s.starvation) all["starvation"] = starvation(*s.starvation);
  all["fixes"] = list(s.fixes, fix);
  all["assumptions"] = list(s.assumptions, assumption);
  all["formulas"] = Json::array();
  for (const Derived& d : s.formulas)
    all["formulas"].push_back({{"id", d.formula},
                               {"equation", d.equation},
                               {"substituted", d.substituted},
                               {"value", d.value},
                               {"unit", d.unit}});
  all["not_measured"] = Json::array();
  for (const NotMeasured& n : s.not_measured)
    all["not_measured"].push_back({{"phase", n.phase}, {"title", n.title}, {"why", n.why}, {"command", n.command}});
  for (const PredictionRecord& r : s.predictions) {
    Json each = Json::array();
    for (const PastPrediction& p : r.each)
      each.push_back({{"run", p.run},
                      {"job", p.job},
                      {"predicted", p.predicted},
                      {"rehearsed", p.rehearsed},
                      {"error", p.error},
                      {"grade", p.grade}});
    all["predictions"].push_back({{"node", r.node},
                                  {"typical_error", r.typical},
                                  {"median_error", r.bias},
                                  {"worst_error", r.worst},
                                  {"told", r.reported},
                                  {"rehearsals", std::move(each)}});
  }
  return results::json_text(all);
}

}  // namespace headrace::sizing
