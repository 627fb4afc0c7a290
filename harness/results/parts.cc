#include "harness/results/parts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/job/need_kinds.h"
#include "harness/results/fields_json.h"
#include "harness/results/result_store.h"

namespace headrace::results {

using Json = nlohmann::ordered_json;

std::string_view to_string(PointStatus status) {
  switch (status) {
    case PointStatus::ok:
      return "ok";
    case PointStatus::skipped:
      return "skipped";
    case PointStatus::error:
      return "error";
    case PointStatus::interrupted:
      return "interrupted";
    case PointStatus::not_reached:
      return "not_reached";
  }
  return "";
}

std::string_view to_string(RepetitionStatus status) {
  switch (status) {
    case RepetitionStatus::ok:
      return "ok";
    case RepetitionStatus::error:
      return "error";
    case RepetitionStatus::interrupted:
      return "interrupted";
  }
  return "";
}

std::string_view to_string(Better better) {
  switch (better) {
    case Better::higher:
      return "higher";
    case Better::lower:
      return "lower";
    case Better::neither:
      return "neither";
  }
  return "";
}

std::string_view to_string(AcrossRanks across) {
  switch (across) {
    case AcrossRanks::add:
      return "add";
    case AcrossRanks::slowest:
      return "slowest";
    case AcrossRanks::first:
      return "first";
  }
  return "";
}

std::string node_name(const RunResult& run) {
  for (const auto& [section, facts] : run.environment) {
    if (section != "host") continue;
    for (const auto& [key, value] : facts) {
      if (key == "name") return value;
    }
  }
  return "";
}

double to_base_unit(std::string_view unit) { return unit == "ns" ? 1e-9 : 1; }

std::string_view base_unit(std::string_view unit) { return unit == "ns" ? "s" : unit; }

Json head(const RunResult& run, std::string_view kind) {
  return {{"schema", kSchema},
          {"kind", kind},
          {"headrace",
           {{"version", run.build.version},
            {"revision", run.build.revision},
            {"compiler", run.build.compiler},
            {"build_type", run.build.type},
            {"sanitizers", run.build.sanitizers}}}};
}

Json run_part(const RunResult& run) {
  Json part{{"id", run.run_id},
            {"name", run.plan->name},
            {"started_utc", run.started_utc},
            {"elapsed_s", run.elapsed_s},
            {"command", run.command},
            {"config_file", run.plan->config_file},
            {"config_hash", run.plan->config_hash},
            {"seed", run.plan->seed},
            {"signal", run.signal},
            {"node", node_name(run)}};
  if (run.plan->from_job) part["from_job_by"] = run.plan->rehearsal ? "rehearse" : "qualify";
  if (!run.plan->target_path.empty()) part["target"] = run.plan->target_path;
  return part;
}

Json summary_part(const Summary& s) {
  return {{"word", s.word}, {"exit_code", s.exit_code},       {"needs", s.needs},     {"pass", s.pass},
          {"fail", s.fail}, {"inconclusive", s.inconclusive}, {"skipped", s.skipped}, {"error", s.error}};
}

Json judgements_part(const RunResult& run) {
  Json all = Json::array();
  for (const Judgement& j : run.judgements) {
    all.push_back(json_of(j));
    if (const job::NeedKind* kind = job::find_need_kind(j.id); kind != nullptr && !kind->name.empty())
      all.back()["name"] = kind->name;
  }
  return all;
}

Json environment_part(const Fingerprint& environment) {
  Json all = Json::object();
  for (const auto& [section, facts] : environment) {
    Json one = Json::object();
    for (const auto& [key, value] : facts) one[key] = value;
    all[section] = std::move(one);
  }
  return all;
}

nlohmann::ordered_json noise_part(const NoiseFloor& noise) { return json_of(noise); }

}  // namespace headrace::results
