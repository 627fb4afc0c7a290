// comparison.json (docs/reference/comparison-json.md).
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/analysis/comparison/output.h"
#include "harness/analysis/comparison/row_words.h"
#include "harness/base/version.h"
#include "harness/results/json_text.h"
#include "harness/results/parts.h"
#include "harness/results/result_store.h"

namespace headrace::comparison {
namespace {

using Json = nlohmann::ordered_json;

Json design(const Design& d) {
  Json json{{"kind", d.interleaved ? "interleaved" : "stored"}};
  if (d.interleaved) {
    json["order"] = "ABBA";
    json["blocks"] = d.blocks;
    json["looks"] = {statistics::kFirstLook, statistics::kLastLook};
    json["look"] = d.look;
    json["next_look"] = d.next_look;
  }
  json["level"] = d.level;
  json["delta_rate"] = d.delta_rate;
  json["delta_tail"] = d.delta_tail;
  json["false_discovery_rate"] = statistics::kFalseDiscoveryRate;
  json["sentence"] = d.sentence;
  return json;
}

Json side(const Side& s) {
  const results::StoredRun& run = s.first();
  return {{"label", s.label},
          {"source", s.source},
          {"run", run.id},
          {"name", run.name},
          {"node", run.node},
          {"started_utc", run.started_utc},
          {"config_hash", run.config_hash},
          {"runs", s.runs.size()}};
}

Json values(const Values& v) {
  return {{"typical", v.typical}, {"median", v.median},   {"low", v.low},
          {"high", v.high},       {"n", v.values.size()}, {"values", v.values}};
}

Json row(const Row& r) {
  Json json{{"workload", r.workload},
            {"points", {r.base_point, r.other_point}},
            {"params", Json(r.params)},
            {"metric", r.metric},
            {"unit", r.unit},
            {"better", results::to_string(r.better)},
            {"description", r.description},
            {"gated", r.gated},
            {"fact", r.fact},
            {"says_same_as", r.says_same_as},
            {"delta", r.delta}};
  if (r.estimate) {
    const auto known = [&](const char* key, double value, double least = 0) {
      if (std::isfinite(value) && value >= least) json[key] = value;  // wild values have no bounds that a number holds
    };
    known("ratio", r.estimate->ratio);
    known("low", r.estimate->low, std::numeric_limits<double>::min());
    known("high", r.estimate->high);
    known("p", r.estimate->p);
    if (r.callable)  // facts are reported exactly
      known("smallest_visible", statistics::smallest_called(*r.estimate, r.delta));
  }
  json["significant"] = r.significant;
  json["status"] = to_string(r.change);
  json["reason"] = headrace::to_string(r.reason);
  json["explanation"] = r.explanation;
  json["next_step"] = r.next_step;
  if (r.noise_floor) json["noise_floor"] = *r.noise_floor;
  json["base"] = values(r.base);
  json["other"] = values(r.other);
  if (r.blocks.empty()) return json;
  json["blocks"] = Json::array();
  for (const Block& b : r.blocks)
    json["blocks"].push_back({{"block", b.number},
                              {"base", b.base},
                              {"other", b.other},
                              {"ratio", b.other / b.base},
                              {"disturbed", b.disturbed},
                              {"judged", b.judged}});
  return json;
}

Json latency(const LatencyShift& l) {
  Json shift = Json::array();
  for (std::size_t i = 0; i < l.probability.size(); ++i)
    shift.push_back(l.base_ns[i] > 0 ? Json(l.other_ns[i] / l.base_ns[i] - 1) : Json(nullptr));
  return {{"workload", l.workload},
          {"points", {l.base_point, l.other_point}},
          {"phase", l.phase},
          {"part", l.part},
          {"probability", l.probability},
          {"base_ns", l.base_ns},
          {"other_ns", l.other_ns},
          {"shift", std::move(shift)},
          {"base_operations", l.base_operations},
          {"other_operations", l.other_operations}};
}

Json summary(const Pair& p) {
  const PairSummary& s = p.summary;
  return {{"word", s.word},
          {"exit_code", s.exit_code},
          {"metrics", p.rows.size()},
          {"compared", s.findings},
          {"worse", s.worse},
          {"better", s.better},
          {"differs", s.differs},
          {"same", s.same},
          {"small", s.small},
          {"inconclusive", s.inconclusive},
          {"gated", s.gated},
          {"expected_by_chance", s.expected_by_chance},
          {"smallest_visible", s.smallest_visible},
          {"sentence", s.sentence},
          {"about_gates", s.about_gates}};
}

Json pair(const Comparison& all, const Pair& p) {
  Json json{{"base", all.sides[p.base].label},
            {"other", all.sides[p.other].label},
            {"compared", compared_parts(all, p)},
            {"parameters", Json::array()},
            {"summary", summary(p)},
            {"rows", Json::array()},
            {"latency", Json::array()},
            {"not_compared", Json::array()},
            {"warnings", p.warnings}};
  for (const ParameterDifference& d : p.parameters)
    json["parameters"].push_back({{"name", d.name}, {"base", d.base}, {"other", d.other}, {"points", d.points}});
  for (const Row& r : p.rows) json["rows"].push_back(row(r));
  for (const LatencyShift& l : p.latency) json["latency"].push_back(latency(l));
  for (const NotCompared& n : p.not_compared)
    json["not_compared"].push_back({{"point", n.point}, {"metric", n.metric}, {"side", n.side}, {"why", n.why}});
  return json;
}

}  // namespace

std::string comparison_json(const Comparison& all) {
  Json json{{"schema", results::kSchema},
            {"kind", "headrace.comparison"},
            {"headrace", {{"version", kVersion}, {"revision", kRevision}, {"compiler", kCompiler}}},
            {"command", all.command},
            {"design", design(all.design)},
            {"sides", Json::array()},
            {"environment", Json(all.sides.front().first().environment)},
            {"fingerprint", Json::array()},
            {"history",
             {{"source", all.history_source},
              {"sessions", all.history_sessions},
              {"assumed_spread", statistics::kAssumedSpread},
              {"why", all.history_why},
              {"sentence", history_sentence(all)}}},
            {"noise_floor", nullptr},
            {"pairs", Json::array()},
            {"summary", {{"word", all.word}, {"exit_code", all.exit_code}}}};
  if (all.noise)
    json["noise_floor"] = results::noise_part(*all.noise);
  else
    json.erase("noise_floor");
  for (const Side& s : all.sides) json["sides"].push_back(side(s));
  for (const FingerprintDifference& d : all.fingerprint)
    json["fingerprint"].push_back(
        {{"key", d.key}, {"values", d.values}, {"declared", d.declared}, {"matters", d.matters}});
  for (const Pair& p : all.pairs) json["pairs"].push_back(pair(all, p));
  return results::json_text(json);
}

}  // namespace headrace::comparison
