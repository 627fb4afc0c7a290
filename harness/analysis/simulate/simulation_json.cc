// simulation.json and simulation.csv.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/analysis/simulate/measured_system.h"
#include "harness/base/escape.h"
#include "harness/base/version.h"
#include "harness/results/json_text.h"

namespace headrace::simulate {
namespace {

using namespace simulate;
using Json = nlohmann::ordered_json;

Json figure_json(const Spread& s) {
  const FigureKind& kind = simulate::kind_of(s.figure);
  Json one{{"figure", kind.id},   {"scenario", kind.scenario},
           {"title", kind.title}, {"unit", kind.unit},
           {"median", s.median},  {"low", s.low},
           {"high", s.high},      {"limit", simulate::to_string(s.limit)}};
  if (s.required) {
    one["required"] = *s.required;
    one["expected_to_meet"] = !s.is_expected_to_miss();
    one["fails"] = s.fails();
  }
  return one;
}

Json scale_json(const Scale& scale) {
  Json one{{"nodes", scale.nodes},
           {"gpus", scale.gpus},
           {"basis", scale.shown ? "modelled" : "extrapolated"},
           {"figures", Json::array()}};
  for (const Spread& s : scale.figures) one["figures"].push_back(figure_json(s));
  return one;
}

Json storm_json(const Simulation& s) {
  Json at = Json::array(), rate = at, client = at, uplink = at, store = at, waiting = at;
  for (const Moment& m : s.moments) {
    at.push_back(m.at_s);
    rate.push_back(m.rate);
    client.push_back(m.flows.client);
    uplink.push_back(m.flows.uplink);
    store.push_back(m.flows.store);
    waiting.push_back(m.flows.waiting);
  }
  return {{"scenario", s.storm}, {"nodes", s.scales.back().nodes},
          {"at_s", at},          {"rate", rate},
          {"client", client},    {"uplink", uplink},
          {"store", store},      {"waiting", waiting}};
}

}  // namespace

std::string simulation_json(const SimulationPlan& plan, const Simulation& s) {
  const job::Job& job = plan.jobs.back();
  Json root{
      {"schema", 1},
      {"kind", "headrace.simulation"},
      {"headrace", {{"version", kVersion}, {"revision", kRevision}}},
      {"job",
       {{"name", job.name},
        {"description", job.description},
        {"gpus_per_node", job.cluster.gpus_per_node},
        {"values", Json(job.values)}}},
      {"summary", {{"word", s.word}, {"exit_code", exit_code(s.word)}, {"sentence", s.sentence}, {"cause", s.cause}}},
      {"seed", plan.seed},
      {"seeds", plan.seeds},
      {"from", plan.system.from},
      {"missing", s.missing},
      {"scales", Json::array()},
      {"breaks", Json::array()},
      {"gained", simulate::kind_of(s.gained).id},
      {"gains", Json::array()}};
  for (const Scale& scale : s.scales) root["scales"].push_back(scale_json(scale));
  for (const Break& b : s.breaks) {
    Json one{{"figure", simulate::kind_of(b.figure).id},
             {"scenario", simulate::kind_of(b.figure).scenario},
             {"limit", simulate::to_string(b.limit)}};
    if (b.nodes > 0) one.update({{"nodes", b.nodes}, {"holds_to", b.holds_to}});
    if (b.nodes <= 0) one["holds_from"] = b.holds_from;
    root["breaks"].push_back(std::move(one));
  }
  for (const Gain& g : s.gains) {
    root["gains"].push_back({{"key", g.key}, {"from", g.from}, {"to", g.to}, {"gain", g.gain}});
    if (g.price > 0) root["gains"].back()["price_usd"] = g.price;
  }
  if (!s.moments.empty()) root["storm"] = storm_json(s);
  return results::json_text(root);
}

std::string simulation_csv(const Simulation& s) {
  std::string out = "nodes,gpus,figure,scenario,unit,low,median,high,required,limit,basis\n";
  for (const Scale& scale : s.scales)
    for (const Spread& one : scale.figures) {
      const FigureKind& kind = simulate::kind_of(one.figure);
      out += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{}\n", scale.nodes, scale.gpus, kind.id, csv_field(std::string(kind.scenario)),
          kind.unit, one.low, one.median, one.high, one.required ? fmt::format("{}", *one.required) : "",
          csv_field(std::string(simulate::to_string(one.limit))), scale.shown ? "modelled" : "extrapolated");
    }
  return out;
}

}  // namespace headrace::simulate
