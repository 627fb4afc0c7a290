#include "harness/analysis/comparison/noise.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/analysis/comparison/comparison.h"
#include "harness/analysis/comparison/fingerprint_difference.h"
#include "harness/base/error.h"
#include "harness/base/file_text.h"
#include "harness/base/system/list_names.h"
#include "harness/judge/statistics/summary.h"
#include "harness/results/default_params.h"
#include "harness/results/json_place.h"
#include "harness/results/json_text.h"
#include "harness/results/result_store.h"
#include "harness/results/stored_verdict.h"

namespace headrace::comparison {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using results::JsonPlace;
using statistics::Change;

constexpr std::string_view kNoiseDocument = "headrace.aa";
constexpr std::string_view kFile = "aa.json";
constexpr Outcome kWords[] = {Outcome::pass, Outcome::fail};

bool has_changed(Change change) {
  return change == Change::worse || change == Change::better || change == Change::differs;
}

Change change_named(const JsonPlace& place) {
  const std::string word = place.text();
  for (const Change change :
       {Change::worse, Change::better, Change::differs, Change::same, Change::small, Change::inconclusive})
    if (to_string(change) == word) return change;
  place.refuse("'" + word + "': not a status");
}

double spread(const std::vector<double>& logs) {
  double mean = 0, squares = 0;
  for (const double x : logs) mean += x / static_cast<double>(logs.size());
  for (const double x : logs) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / static_cast<double>(logs.size() - 1));
}

double share(const JsonPlace& row, std::string_view key) {
  const double value = row.at(key).number();
  if (value < 0) row.at(key).refuse("below 0");
  return value;
}

/// As it is reported: relative to this folder, when it is below it.
std::string seen_from_here(const fs::path& path) {
  std::error_code none;
  const fs::path here = fs::proximate(path, none);
  return none || here.empty() || *here.begin() == ".." ? path.string() : here.string();
}

}  // namespace

unsigned Noise::changed() const {
  return static_cast<unsigned>(
      std::count_if(rows.begin(), rows.end(), [](const NoiseRow& row) { return has_changed(row.status); }));
}

NoiseFloor Noise::summary() const {
  std::vector<double> floors;
  double alarms = 0;
  for (const NoiseRow& row : rows) {
    floors.push_back(row.noise_floor);
    alarms += row.false_alarm_rate / static_cast<double>(rows.size());
  }
  return {source, floors.empty() ? 0 : statistics::median(floors), alarms};
}

Noise noise_of(const Comparison& comparison) {
  const Pair& pair = comparison.pairs.front();
  Noise noise;
  noise.system = comparison.sides.front().first();
  noise.blocks = comparison.design.blocks;
  for (const Row& row : pair.rows) {
    if (row.blocks.size() < 2) continue;
    NoiseRow one;
    one.point.id = row.base_point;
    one.point.workload = row.workload;
    one.point.params = row.params;
    one.metric = row.metric;
    one.unit = row.unit;
    one.status = row.change;
    one.estimate = row.estimate;
    std::vector<double> logs;
    for (const Block& block : row.blocks) {
      one.blocks.push_back(block.other / block.base);
      logs.push_back(std::log(one.blocks.back()));
    }
    one.block_spread = spread(logs);
    one.noise_floor = statistics::noise_floor(logs);
    one.false_alarm_rate = statistics::false_alarm_rate(logs, row.delta);
    if (!std::isfinite(one.noise_floor)) continue;
    if (row.gated && has_changed(row.change)) noise.word = Outcome::fail;
    noise.rows.push_back(std::move(one));
  }
  noise.exit_code = exit_code(noise.word);
  return noise;
}

std::string noise_json(const Noise& noise) {
  const NoiseFloor summary = noise.summary();
  Json json{{"schema", results::kSchema},
            {"kind", kNoiseDocument},
            {"headrace", {{"version", noise.system.version}, {"revision", noise.system.revision}}},
            {"node", noise.system.node},
            {"started_utc", noise.system.started_utc},
            {"config_hash", noise.system.config_hash},
            {"blocks", noise.blocks},
            {"environment", Json(noise.system.environment)},
            {"summary",
             {{"word", noise.word},
              {"exit_code", noise.exit_code},
              {"metrics", noise.rows.size()},
              {"changed", noise.changed()},
              {"noise_floor", summary.median},
              {"false_alarm_rate", summary.false_alarm_rate}}},
            {"rows", Json::array()}};
  for (const NoiseRow& row : noise.rows) {
    Json one{{"workload", row.point.workload}, {"point", row.point.id}, {"params", Json(row.point.params)},
             {"metric", row.metric},           {"unit", row.unit},      {"status", to_string(row.status)}};
    if (row.estimate && std::isfinite(row.estimate->low) && std::isfinite(row.estimate->high)) {
      one["ratio"] = row.estimate->ratio;
      one["low"] = row.estimate->low;
      one["high"] = row.estimate->high;
    }
    one["block_spread"] = row.block_spread;
    one["noise_floor"] = row.noise_floor;
    one["false_alarm_rate"] = row.false_alarm_rate;
    one["blocks"] = row.blocks;
    json["rows"].push_back(std::move(one));
  }
  return results::json_text(json);
}

Noise read_noise(const std::string& path) {
  const std::string file = fs::is_directory(path) ? (fs::path(path) / kFile).string() : std::string(path);
  const std::string text = file_text(file);
  try {
    const nlohmann::json document = results::parse_kind(text, kNoiseDocument);
    const JsonPlace root(document);
    Noise noise;
    noise.source = file;
    noise.system.version = root.at("headrace").text("version", "");
    noise.system.revision = root.at("headrace").text("revision", "");
    noise.system.node = root.text("node", "");
    noise.system.started_utc = root.text("started_utc", "");
    noise.system.config_hash = root.text("config_hash", "");
    noise.blocks = static_cast<unsigned>(root.at("blocks").whole());
    if (root.at("summary").has("word")) noise.word = results::outcome_at(root.at("summary").at("word"), kWords);
    noise.exit_code = static_cast<int>(root.at("summary").whole("exit_code", 0));
    root.at("environment").each_member([&](const std::string& key, const JsonPlace& value) {
      noise.system.environment[key] = value.word();
    });
    root.at("rows").each([&](const JsonPlace& row) {
      NoiseRow one;
      one.point.workload = row.at("workload").text();
      one.point.id = row.at("point").text();
      row.at("params").each_member(
          [&](const std::string& key, const JsonPlace& value) { one.point.params[key] = value.word(); });
      results::add_default_params(one.point.workload, one.point.params);
      one.metric = row.at("metric").text();
      one.unit = row.text("unit", "");
      one.status = change_named(row.at("status"));
      one.block_spread = share(row, "block_spread");
      one.noise_floor = share(row, "noise_floor");
      one.false_alarm_rate = share(row, "false_alarm_rate");
      if (one.false_alarm_rate > 1) row.at("false_alarm_rate").refuse("above 1");
      one.blocks = row.at("blocks").numbers();
      noise.rows.push_back(std::move(one));
    });
    return noise;
  } catch (const UsageError& e) {
    throw UsageError(file + ": " + e.what());
  }
}

std::optional<Noise> newest_noise(const std::string& folder, const results::StoredRun& like) {
  std::optional<Noise> newest;
  std::error_code none;
  const fs::path beside = fs::absolute(folder, none).lexically_normal().parent_path();
  std::vector<std::string> names;
  const int code = system::list_names(AT_FDCWD, beside.c_str(), names);
  if (code == ENOENT || code == EACCES) return std::nullopt;  // only runs that this user may list are compared with
  if (code != 0) throw system_error("list", beside.string(), code);
  for (const std::string& name : names) {
    if (!fs::is_regular_file(beside / name / kFile, none)) continue;
    try {
      Noise noise = read_noise((beside / name).string());
      if (!same_fingerprint(noise.system, like)) continue;
      if (!newest ||
          std::pair(noise.system.started_utc, noise.source) > std::pair(newest->system.started_utc, newest->source))
        newest = std::move(noise);
    } catch (const UsageError&) {  // another's, or cut short: the next one
    }
  }
  if (newest) newest->source = seen_from_here(newest->source);
  return newest;
}

std::optional<NoiseFloor> noise_beside(const results::StoredRun& run) {
  const auto noise = newest_noise(fs::path(run.path).parent_path().string(), run);
  if (!noise) return std::nullopt;
  return noise->summary();
}

}  // namespace headrace::comparison
