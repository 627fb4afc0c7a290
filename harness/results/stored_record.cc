#include "harness/results/stored_record.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/engine/explain/evidence.h"
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

std::vector<unsigned> counts(const JsonPlace& place, std::string_view key) {
  std::vector<unsigned> all;
  if (place.has(key))
    place.at(key).each([&](const JsonPlace& one) { all.push_back(static_cast<unsigned>(one.whole())); });
  return all;
}

}  // namespace

judging::RecordedPoint read_recorded_point(const JsonPlace& place, const HearRepetition& hears) {
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
  if (place.has("group")) read_fields(place.at("group"), point.group.emplace());
  place.at("metrics").each([&](const JsonPlace& metric) {
    if (metric.flag("too_few_operations", false)) point.too_few_operations.push_back(metric.at("name").text());
  });
  if (place.has("unproven")) point.unproven = place.at("unproven").texts();
  if (place.has("left_out"))
    place.at("left_out").each_member([&](const std::string& why, const JsonPlace& count) {
      point.left_out[why] = count.whole();
    });
  if (place.has("missing"))
    place.at("missing").each_member(
        [&](const std::string& metric, const JsonPlace& why) { point.missing[metric] = why.text(); });
  if (place.has("single_run"))
    place.at("single_run").each_member([&](const std::string& unit, const JsonPlace& alone) {
      read_fields(alone, point.single_run[unit]);
    });
  if (place.has("faults"))
    place.at("faults").each([&](const JsonPlace& one) { read_fields(one, point.faults.emplace_back()); });
  point.measured_again = place.flag("measured_again", false);
  PartNames parts;
  if (place.has("repetitions"))
    place.at("repetitions").each([&](const JsonPlace& one) {
      const Repetition r = read_repetition(one, point.cache, parts);
      point.repetitions.push_back(engine::recorded(r));
      if (hears) hears(r, parts);
    });
  return point;
}

std::vector<judging::Question> read_questions(const JsonPlace& root) {
  std::vector<judging::Question> all;
  root.at("questions").each([&](const JsonPlace& one) {
    judging::Question& question = all.emplace_back();
    read_fields(one, question);
    question.choices = std::max(1U, question.choices);
  });
  return all;
}

}  // namespace headrace::results
