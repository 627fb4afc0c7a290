#include "harness/results/stored_verdict.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/results/result_store.h"

namespace headrace::results {
namespace {

namespace fs = std::filesystem;

std::optional<double> maybe(const JsonPlace& place, std::string_view key) {
  return place.has(key) ? std::optional(place.at(key).number()) : std::nullopt;
}

StoredJudgement read_judgement(const JsonPlace& place) {
  StoredJudgement j;
  j.id = place.at("id").text();
  j.scope = place.text("scope", "");
  j.outcome = place.at("outcome").text();
  j.point = place.text("point", "");
  j.metric = place.text("metric", "");
  j.reason = place.text("reason", "");
  j.explanation = place.text("explanation", "");
  j.next_step = place.text("next_step", "");
  j.unit = place.text("unit", "");
  j.thin = place.flag("thin", false);
  j.higher_is_better = place.text("direction", "at_least") != "at_most";
  j.required = place.number("required", 0);
  j.need = place.number("need", 0);
  j.measured = maybe(place, "measured");
  j.low = maybe(place, "low");
  j.high = maybe(place, "high");
  j.headroom = maybe(place, "headroom");
  return j;
}

}  // namespace

unsigned StoredVerdict::count(std::string_view outcome) const {
  return static_cast<unsigned>(
      std::count_if(judgements.begin(), judgements.end(),
                    [&](const StoredJudgement& j) { return j.outcome == outcome; }));
}

unsigned StoredVerdict::thin() const {
  return static_cast<unsigned>(
      std::count_if(judgements.begin(), judgements.end(),
                    [](const StoredJudgement& j) { return j.outcome == "PASS" && j.thin; }));
}

double StoredVerdict::ended_s() const {
  tm utc{};
  const char* end = strptime(started_utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return end == nullptr || *end != '\0' ? 0 : static_cast<double>(timegm(&utc)) + elapsed_s;
}

nlohmann::json parse_kind(std::string_view text, std::string_view kind,
                          const std::vector<std::string>& ignored) {
  nlohmann::json document = parse_json(text, ignored);
  const std::string what(kind.substr(kind.find('.') + 1));
  if (!document.is_object() || JsonPlace(document).text("kind", "") != kind)
    throw UsageError(fmt::format("not a {} file: no \"kind\": \"{}\"", what, kind));
  if (!document.contains("schema") || document["schema"] != kSchema)
    throw UsageError(fmt::format(
        "schema {}: this headrace reads schema {}; use the headrace that wrote the file",
        document.contains("schema") ? document["schema"].dump() : "not told", kSchema));
  return document;
}

void read_verdict(const JsonPlace& root, StoredVerdict& verdict) {
  const JsonPlace about = root.at("run"), summary = root.at("summary");
  verdict.id = about.at("id").text();
  verdict.name = about.at("name").text();
  verdict.started_utc = about.at("started_utc").text();
  verdict.node = about.at("node").text();
  verdict.elapsed_s = about.number("elapsed_s", 0);
  verdict.config_file = about.text("config_file", "");
  verdict.config_hash = about.text("config_hash", "");
  if (about.has("command")) verdict.command = about.at("command").texts();
  if (root.has("headrace")) {
    verdict.version = root.at("headrace").text("version", "");
    verdict.revision = root.at("headrace").text("revision", "");
  }
  verdict.word = summary.at("word").text();
  verdict.exit_code =
      static_cast<int>(std::min<std::uint64_t>(summary.at("exit_code").whole(), 255));
  if (root.has("judgements"))
    root.at("judgements").each([&](const JsonPlace& place) {
      verdict.judgements.push_back(read_judgement(place));
    });
}

StoredVerdict read_verdict_file(const std::string& path) {
  std::error_code ignored;
  const std::string file =
      fs::is_directory(path, ignored) ? (fs::path(path) / "verdict.json").string() : path;
  try {
    const nlohmann::json document = parse_kind(file_text(file), "headrace.verdict");
    StoredVerdict verdict;
    verdict.path = file;
    read_verdict(JsonPlace(document), verdict);
    return verdict;
  } catch (const UsageError& e) {
    throw UsageError(file + ": " + e.what());
  }
}

std::string file_text(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.bad())
    throw UsageError(std::string("cannot be read: ") + std::strerror(errno ? errno : EIO));
  return std::move(text).str();
}

}  // namespace headrace::results
