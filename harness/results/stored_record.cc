#include "harness/results/stored_record.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/results/parts.h"

namespace headrace::results {
namespace {

PointStatus read_status(const JsonPlace& place) {
  for (const PointStatus status :
       {PointStatus::ok, PointStatus::skipped, PointStatus::error, PointStatus::interrupted, PointStatus::not_reached})
    if (place.text() == to_string(status)) return status;
  place.refuse("'" + place.text() + "' is not one of: ok, skipped, error, interrupted, not_reached");
}

CacheState read_state(const JsonPlace& place) {
  if (const auto state = parse_cache_state(place.text())) return *state;
  place.refuse("'" + place.text() + "' is not one of: cold, warm, bypassed, asis");
}

ParamValue read_param(const JsonPlace& place) {
  const nlohmann::json& value = place.value();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number()) return place.number();
  return place.text();
}

/// A state that was declared and of which nothing is said was not proven.
judging::RecordedRepetition read_repetition(const JsonPlace& place, CacheState declared) {
  judging::RecordedRepetition r;
  r.look = static_cast<unsigned>(place.whole("look", 0));
  r.counted = place.flag("counted", true);
  r.ok = place.text("status", "ok") == to_string(RepetitionStatus::ok);
  if (place.has("metrics"))
    place.at("metrics").each_member(
        [&](const std::string& name, const JsonPlace& value) { r.metrics[name] = value.number(); });
  if (place.has("metric_seconds"))
    place.at("metric_seconds").each_member([&](const std::string& name, const JsonPlace& value) {
      r.seconds[name] = value.number();
    });
  if (place.has("phases"))
    place.at("phases").each([&](const JsonPlace& phase) { r.elapsed_s += phase.at("elapsed_s").number(); });
  r.state_required = declared != CacheState::asis;
  if (place.has("cache")) {
    const JsonPlace cache = place.at("cache");
    r.state_required = cache.flag("required", r.state_required);
    r.state_proven = cache.flag("proven", false);
    r.state_why = cache.text("why", "");
  }
  if (place.has("disturbance")) {
    r.disturbed = place.at("disturbance").flag("disturbed", false);
    r.disturbed_why = place.at("disturbance").text("why", "");
  }
  r.steady = place.flag("steady", true);
  r.steady_why = place.text("steady_why", "");
  return r;
}

std::vector<unsigned> counts(const JsonPlace& place, std::string_view key) {
  std::vector<unsigned> all;
  if (place.has(key))
    place.at(key).each([&](const JsonPlace& one) { all.push_back(static_cast<unsigned>(one.whole())); });
  return all;
}

statistics::SingleRun read_single_run(const JsonPlace& place) {
  statistics::SingleRun alone;
  alone.usable = place.at("usable").flag();
  alone.mean = place.at("mean").number();
  alone.low = place.at("low").number();
  alone.high = place.at("high").number();
  alone.batches = place.whole("batches", 0);
  alone.correlation_time = place.number("correlation_time", 0);
  return alone;
}

judging::Question read_question(const JsonPlace& place) {
  judging::Question q;
  q.blank.id = place.at("id").text();
  q.blank.scope = place.at("scope").text();
  q.blank.higher_is_better = place.at("direction").text() != "at_most";
  q.blank.required = place.at("required").number();
  q.blank.need = place.at("need").number();
  q.blank.unit = place.at("unit").text();
  q.blank.formula = place.text("formula", "");
  q.blank.equation = place.text("equation", "");
  q.blank.substituted = place.text("substituted", "");
  q.measured_by = place.at("measured_by").texts();
  q.workload = place.text("workload", "");
  place.at("with").each([&](const JsonPlace& p) {
    q.with.push_back({p.at("name").text(), p.at("key").text(), p.at("value").number()});
  });
  q.parts = place.at("parts").number();
  q.per_node = place.at("per_node").flag();
  q.per_process = place.flag("per_process", false);
  if (place.has("lower_bounds")) q.lower_bounds = place.at("lower_bounds").texts();
  q.choices = std::max(1U, static_cast<unsigned>(place.whole("choices", 1)));
  q.cannot = place.text("cannot", "");
  if (place.has("cache")) q.cache = read_state(place.at("cache"));
  if (place.has("collective")) {
    const JsonPlace c = place.at("collective");
    q.collective = requirements::JobCollective{.message = c.at("message").number(),
                                               .ranks = c.at("ranks").number(),
                                               .stride = c.at("stride").number(),
                                               .nodes = c.at("nodes").number(),
                                               .wire = c.at("wire").number(),
                                               .hidden_s = c.at("hidden_s").number(),
                                               .times = c.at("times").number()};
  }
  return q;
}

}  // namespace

judging::RecordedPoint read_recorded_point(const JsonPlace& place) {
  judging::RecordedPoint point;
  point.id = place.at("id").text();
  point.workload = place.at("workload").text();
  if (place.has("params"))
    place.at("params").each_member(
        [&](const std::string& key, const JsonPlace& value) { point.params[key] = read_param(value); });
  if (place.has("cache")) point.cache = read_state(place.at("cache"));
  point.status = read_status(place.at("status"));
  point.reason = place.text("reason", "");
  point.looks.looks = counts(place, "looks");
  point.looks.ranks = counts(place, "ranks");
  if (place.has("alphas"))
    place.at("alphas").each([&](const JsonPlace& one) { point.looks.alphas.push_back(one.number()); });
  else  // of a run that was not looked at so
    point.looks.alphas = statistics::plan_looks(point.looks.looks).alphas;
  point.looks.alphas.resize(point.looks.looks.size());
  point.deterministic = place.flag("deterministic", false);
  point.adds = place.text("across_ranks", "add") == to_string(AcrossRanks::add);
  point.nodes = static_cast<unsigned>(place.whole("nodes", 1));
  point.processes = static_cast<unsigned>(place.whole("processes", 1));
  if (place.has("group")) {
    const JsonPlace group = place.at("group");
    point.group =
        GroupShape{static_cast<unsigned>(group.at("ranks").whole()), static_cast<unsigned>(group.at("nodes").whole()),
                   static_cast<unsigned>(group.whole("groups", 1))};
  }
  place.at("metrics").each([&](const JsonPlace& metric) {
    if (metric.flag("too_few_operations", false)) point.too_few_operations.push_back(metric.at("name").text());
  });
  if (place.has("missing"))
    place.at("missing").each_member(
        [&](const std::string& metric, const JsonPlace& why) { point.missing[metric] = why.text(); });
  if (place.has("single_run"))
    place.at("single_run").each_member([&](const std::string& unit, const JsonPlace& alone) {
      point.single_run[unit] = read_single_run(alone);
    });
  point.measured_again = place.flag("measured_again", false);
  if (place.has("repetitions"))
    place.at("repetitions").each([&](const JsonPlace& one) {
      point.repetitions.push_back(read_repetition(one, point.cache));
    });
  return point;
}

std::vector<judging::Question> read_questions(const JsonPlace& root) {
  std::vector<judging::Question> all;
  root.at("questions").each([&](const JsonPlace& one) { all.push_back(read_question(one)); });
  return all;
}

}  // namespace headrace::results
