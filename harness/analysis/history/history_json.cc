// history.json and history.csv (docs/reference/fleet-json.md).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/analysis/history/history.h"
#include "harness/base/escape.h"
#include "harness/base/version.h"
#include "harness/results/json_text.h"
#include "harness/results/parts.h"
#include "harness/results/result_store.h"

namespace headrace::history {
namespace {

using Json = nlohmann::ordered_json;

Json run(const Run& r) {
  return {{"run", r.run},
          {"path", r.path},
          {"node", r.node},
          {"started_utc", r.started_utc},
          {"config_hash", r.config_hash},
          {"word", r.word},
          {"events", r.events}};
}

Json series(const History& h, const Series& s) {
  Json levels = Json::array(), changes = Json::array();
  for (const Level& l : s.levels) levels.push_back({{"from", l.from}, {"to", l.to}, {"median", l.median}});
  for (const Change& c : s.changes)
    changes.push_back({{"at", c.at},
                       {"before", c.before},
                       {"after", c.after},
                       {"change", c.change() ? Json(*c.change()) : Json()},
                       {"p", c.p},
                       {"status", to_string(c.direction)},
                       {"certain", c.certain},
                       {"between", {h.runs[s.run[c.at - 1]].started_utc, h.runs[s.run[c.at]].started_utc}},
                       {"events", c.events},
                       {"explanation", c.explanation}});
  Json left_out = Json::array();
  for (const LeftOut& one : s.left_out)
    left_out.push_back({{"run", one.run}, {"why", one.why}, {"median", one.median ? Json(*one.median) : Json()}});
  Json all{{"node", s.node},
           {"config_hash", s.config_hash},
           {"workload", s.workload},
           {"point", s.point},
           {"params", Json(s.params)},
           {"metric", s.metric},
           {"unit", s.unit},
           {"better", results::to_string(s.better)},
           {"fact", s.fact},
           {"description", s.description},
           {"delta", s.delta},
           {"run", s.run},
           {"median", s.value},
           {"low", s.low},
           {"high", s.high},
           {"left_out", std::move(left_out)},
           {"levels", std::move(levels)},
           {"changes", std::move(changes)},
           {"newest",
            {{"unusual", s.newest.unusual},
             {"left_out", s.newest.left_out_for},
             {"z", s.newest.z},
             {"explanation", s.newest.explanation}}},
           {"correlation", s.correlation},
           {"wanders", s.wanders},
           {"gone", s.gone},
           {"superseded", s.superseded},
           {"why", s.why}};
  if (s.two_levels)
    all["two_levels"] = {{"lower", s.two_levels->lower},
                         {"upper", s.two_levels->upper},
                         {"at_lower", s.two_levels->at_lower},
                         {"at_upper", s.two_levels->at_upper},
                         {"explanation", s.two_levels->explanation}};
  return all;
}

}  // namespace

std::string history_json(const History& h) {
  Json all{{"schema", results::kSchema},
           {"kind", "headrace.history"},
           {"headrace", {{"version", kVersion}, {"revision", kRevision}, {"compiler", kCompiler}}}};
  all["summary"] = {
      {"word", h.word},           {"exit_code", h.exit_code}, {"runs", h.runs.size()}, {"series", h.series.size()},
      {"too_short", h.too_short}, {"changes", h.changes},     {"unusual", h.unusual},  {"missing", h.missing},
      {"left_out", h.left_out},   {"sentence", h.sentence}};
  if (h.noise) all["noise_floor"] = results::noise_part(*h.noise);
  all["p_limit"] = statistics::kChangeLimit;
  all["permutations"] = statistics::kPermutations;
  all["min_runs"] = statistics::kFewestRuns;
  all["min_segment"] = statistics::kFewestInLevel;
  Json runs = Json::array(), list = Json::array(), unreadable = Json::array();
  for (const Run& r : h.runs) runs.push_back(run(r));
  for (const Series& s : h.series) list.push_back(series(h, s));
  for (const auto& [path, why] : h.unreadable) unreadable.push_back({{"path", path}, {"why", why}});
  Json together = Json::array();
  for (const Together& one : h.together)
    together.push_back({{"point", one.point},
                        {"metric", one.metric},
                        {"status", to_string(one.direction)},
                        {"change", one.change},
                        {"nodes", one.nodes},
                        {"of", one.of},
                        {"between", {one.from, one.to}},
                        {"explanation", one.explanation}});
  all["runs"] = std::move(runs);
  all["together"] = std::move(together);
  all["series"] = std::move(list);
  all["unreadable"] = std::move(unreadable);
  return results::json_text(all);
}

std::string history_csv(const History& h) {
  std::string out = "node,started_utc,run,point,metric,unit,median,low,high,level,status\r\n";
  for (const Series& s : h.series) {
    std::size_t level = 0;
    for (std::size_t i = 0; i < s.run.size(); ++i) {
      while (level + 1 < s.levels.size() && i >= s.levels[level].to) ++level;
      std::string_view status;
      for (const Change& c : s.changes)
        if (c.at == i) status = to_string(c.direction);
      const Run& r = h.runs[s.run[i]];
      out +=
          fmt::format("{},{},{},{},{},{},{},{},{},{},{}\r\n", csv_field(s.node), csv_field(r.started_utc),
                      csv_field(r.run), csv_field(s.point), csv_field(s.metric), csv_field(s.unit), s.value[i],
                      s.low[i], s.high[i], s.levels.empty() ? "" : fmt::format("{}", s.levels[level].median), status);
    }
  }
  return out;
}

}  // namespace headrace::history
