#include "harness/bringup/group_run_json.h"

#include <nlohmann/json.hpp>

#include "harness/results/parts.h"

namespace headrace::bringup {
namespace {

using Json = nlohmann::ordered_json;
using results::JsonPlace;

LoadPhase phase_from(const JsonPlace& place) {
  LoadPhase one;
  one.phase = place.at("phase").text();
  one.title = place.at("title").text();
  one.unit = place.at("unit").text();
  one.outcome = place.at("outcome").text();
  one.explanation = place.at("explanation").text();
  one.next_step = place.text("next_step", "");
  one.clients = static_cast<unsigned>(place.at("clients").whole());
  one.per_node = place.at("per_node").number();
  one.in_all = place.at("in_all").number();
  one.need = place.at("need").number();
  return one;
}

Better better_from(const JsonPlace& place) {
  const std::string word = place.text("better", results::to_string(Better::neither));
  for (const Better one : {Better::higher, Better::lower, Better::neither})
    if (results::to_string(one) == word) return one;
  place.at("better").refuse("must be higher, lower or neither");
}

}  // namespace

Json group_run_json(const GroupRun& run) {
  Json values = Json::array(), phases = Json::array();
  for (const GroupValue& one : run.values)
    values.push_back({{"point", one.point},
                      {"metric", one.metric},
                      {"unit", one.unit},
                      {"value", one.value},
                      {"better", results::to_string(one.better)},
                      {"best", one.best}});
  for (const LoadPhase& one : run.phases)
    phases.push_back({{"phase", one.phase},
                      {"title", one.title},
                      {"unit", one.unit},
                      {"outcome", one.outcome},
                      {"clients", one.clients},
                      {"per_node", one.per_node},
                      {"in_all", one.in_all},
                      {"need", one.need},
                      {"explanation", one.explanation},
                      {"next_step", one.next_step}});
  Json json{{"what", run.what}, {"nodes", run.nodes}, {"took_s", run.took_s}, {"values", values}, {"phases", phases}};
  if (!run.why.empty()) json["why"] = run.why;
  if (run.again) json["again"] = true;
  return json;
}

GroupRun group_run_from(const JsonPlace& place) {
  GroupRun run;
  run.what = place.at("what").text();
  place.at("nodes").each([&](const JsonPlace& item) { run.nodes.push_back(static_cast<unsigned>(item.whole())); });
  run.took_s = place.at("took_s").number();
  run.why = place.text("why", "");
  run.again = place.flag("again", false);
  place.at("values").each([&](const JsonPlace& item) {
    const double value = item.at("value").number();
    run.values.push_back({item.at("point").text(), item.at("metric").text(), item.at("unit").text(), value,
                          better_from(item), item.number("best", value)});
  });
  place.at("phases").each([&](const JsonPlace& item) { run.phases.push_back(phase_from(item)); });
  return run;
}

}  // namespace headrace::bringup
