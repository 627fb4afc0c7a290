// fleet.json and fleet.csv (docs/reference/fleet-json.md).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/analysis/fleet/fleet.h"
#include "harness/base/escape.h"
#include "harness/base/version.h"
#include "harness/results/json_text.h"
#include "harness/results/parts.h"
#include "harness/results/repetition_json.h"
#include "harness/results/result_store.h"

namespace headrace::fleet {
namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json list(const std::vector<std::optional<double>>& values) {
  Json all = Json::array();
  for (const auto& value : values) all.push_back(optional(value));
  return all;
}

Json names(const Fleet& fleet, const std::vector<std::size_t>& nodes) {
  Json all = Json::array();
  for (const std::size_t i : nodes) all.push_back(fleet.nodes[i].name);
  return all;
}

Json group(const Group& g) {
  Json differs = Json::array();
  for (const GroupDifference& d : g.differs)
    differs.push_back({{"key", d.key}, {"value", d.value}, {"usual", d.usual}});
  Json shifts = Json::array();
  for (const GroupShift& one : g.shifts) shifts.push_back({{"metric", one.metric}, {"shift", one.shift}});
  return {{"id", g.id},   {"nodes", g.nodes},   {"judged", g.judged},
          {"why", g.why}, {"differs", differs}, {"shifts", shifts}};
}

Json outlier(const Fleet& fleet, const Outlier& o) {
  Json json{{"node", fleet.nodes[o.node].name},
            {"metric", o.metric},
            {"value", o.value},
            {"median", o.median},
            {"deviation", optional(o.deviation)},
            {"z", optional(o.z)},
            {"status", to_string(o.status)}};
  if (o.again) {
    json["again"] = *o.again;
    json["again_run"] = o.again_run;
  }
  json["explanation"] = o.explanation;
  json["next_step"] = o.next_step;
  return json;
}

Json effect(const Fleet& fleet, const GroupEffect& e) {
  return {{"attribute", e.attribute},
          {"name", e.name},
          {"metric", e.metric},
          {"usual", e.usual},
          {"level", e.level},
          {"again", optional(e.again)},
          {"shift", optional(e.shift)},
          {"z", e.z},
          {"status", to_string(e.status)},
          {"nodes", names(fleet, e.nodes)},
          {"explanation", e.explanation},
          {"next_step", e.next_step}};
}

Json pairs(const JudgedPairs& p) {
  Json found = Json::array();
  for (const JudgedPair& one : p.findings)
    found.push_back({{"kind", one.finding.kind},
                     {"subject", one.finding.subject},
                     {"explanation", one.finding.reported},
                     {"status", to_string(one.status)}});
  return {{"workload", p.workload},
          {"point", p.point},
          {"run", p.run},
          {"path", p.path},
          {"started_utc", p.started_utc},
          {"pairs", results::pairs_part(p.matrix, p.blame)},
          {"findings", std::move(found)}};
}

}  // namespace

std::string fleet_json(const Fleet& f) {
  std::map<std::string, std::size_t> words;
  for (const auto& [word, nodes] : f.words) words.emplace(headrace::to_string(word), nodes);
  Json all{{"schema", results::kSchema},
           {"kind", "headrace.fleet"},
           {"headrace", {{"version", kVersion}, {"revision", kRevision}, {"compiler", kCompiler}}}};
  all["summary"] = {{"word", f.word},
                    {"exit_code", f.exit_code},
                    {"expected", f.expected},
                    {"reported", f.reported},
                    {"judged", f.judged},
                    {"outliers", f.count(Status::confirmed)},
                    {"suspects", f.count(Status::suspected)},
                    {"passing", f.count(Status::passing)},
                    {"group_effects", f.effects_that_are(Status::confirmed)},
                    {"suspected_effects", f.effects_that_are(Status::suspected)},
                    {"slow_pairs", f.pairs_that_are(Status::confirmed)},
                    {"suspected_pairs", f.pairs_that_are(Status::suspected)},
                    {"needs_failed", f.saying(Outcome::fail)},
                    {"words", words},
                    {"sentence", f.sentence}};
  all["hosts_file"] = f.hosts_file;
  all["delta_rate"] = f.delta_rate;
  all["delta_tail"] = f.delta_tail;
  all["limit_z"] = statistics::kOutlierLimit;
  all["mad_floor"] = statistics::kSpreadFloor;
  all["fewest_alike"] = statistics::kFewestAlike;
  Json missing = Json::array(), unreadable = Json::array(), groups = Json::array(), metrics = Json::array(),
       limits = Json::array(), nodes = Json::array(), outliers = Json::array(), effects = Json::array(),
       matrices = Json::array();
  for (const Missing& m : f.missing) missing.push_back({{"node", m.node}, {"why", m.why}, {"next_step", m.next_step}});
  for (const Unreadable& u : f.unreadable) unreadable.push_back({{"path", u.path}, {"node", u.node}, {"why", u.why}});
  for (const Group& g : f.groups) groups.push_back(group(g));
  for (const ComparedMetric& m : f.metrics)
    metrics.push_back({{"workload", m.workload},
                       {"point", m.point},
                       {"params", Json(m.params)},
                       {"metric", m.metric},
                       {"unit", m.unit},
                       {"better", results::to_string(m.better)},
                       {"description", m.description},
                       {"delta", m.delta}});
  for (const Limit& l : f.limits) {
    Json one{{"group", f.groups[l.group].id},
             {"metric", l.metric},
             {"n", l.nodes},
             {"median", l.usual.median},
             {"spread", l.usual.spread}};
    if (l.low) one["low"] = *l.low;
    if (l.high) one["high"] = *l.high;
    limits.push_back(std::move(one));
  }
  for (const Node& n : f.nodes)
    nodes.push_back({{"node", n.name},
                     {"attributes", Json(n.attributes)},
                     {"group", f.groups[n.group].id},
                     {"run", n.run},
                     {"path", n.path},
                     {"started_utc", n.started_utc},
                     {"runs", n.runs},
                     {"word", n.word},
                     {"values", list(n.values)},
                     {"deviation", list(n.deviation)}});
  for (const Outlier& o : f.outliers) outliers.push_back(outlier(f, o));
  for (const GroupEffect& e : f.effects) effects.push_back(effect(f, e));
  for (const JudgedPairs& p : f.pairs) matrices.push_back(pairs(p));
  if (f.noise)
    all["noise_floor"] = {{"nodes", f.noise->nodes},
                          {"median", f.noise->median},
                          {"false_alarm_rate", f.noise->false_alarm_rate},
                          {"highest", f.noise->highest},
                          {"highest_node", f.noise->highest_node}};
  all["missing"] = std::move(missing);
  all["unreadable"] = std::move(unreadable);
  all["groups"] = std::move(groups);
  all["metrics"] = std::move(metrics);
  all["limits"] = std::move(limits);
  all["nodes"] = std::move(nodes);
  all["outliers"] = std::move(outliers);
  all["group_effects"] = std::move(effects);
  all["pairs"] = std::move(matrices);
  return results::json_text(all);
}

std::string fleet_csv(const Fleet& f) {
  std::string out = "node,group,run,point,metric,unit,value,deviation,status\r\n";
  std::map<std::pair<std::size_t, std::size_t>, Status> status;
  for (const Outlier& o : f.outliers) status[{o.node, o.metric}] = o.status;
  for (std::size_t n = 0; n < f.nodes.size(); ++n) {
    const Node& node = f.nodes[n];
    for (std::size_t m = 0; m < f.metrics.size(); ++m) {
      if (!node.values[m]) continue;
      const auto found = status.find({n, m});
      out += fmt::format("{},{},{},{},{},{},{},{},{}\r\n", csv_field(node.name), csv_field(f.groups[node.group].id),
                         csv_field(node.run), csv_field(f.metrics[m].point), csv_field(f.metrics[m].metric),
                         csv_field(f.metrics[m].unit), *node.values[m],
                         node.deviation[m] ? fmt::format("{:.5g}", *node.deviation[m]) : "",
                         found == status.end() ? "" : to_string(found->second));
    }
  }
  return out;
}

}  // namespace headrace::fleet
