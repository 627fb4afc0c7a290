#include "harness/results/stored_verdict.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/base/escape.h"
#include "harness/base/file_text.h"
#include "harness/results/fields_json.h"
#include "harness/results/result_store.h"

namespace headrace::results {
namespace {

namespace fs = std::filesystem;

/// A need that was met was met by its stored values.
void check_pass(const JsonPlace& place, const Judgement& j) {
  if (j.outcome != Outcome::pass) return;
  constexpr double kRounding = 1e-6;  // pages carry 7 digits
  const auto check = [&](const char* key, const std::optional<double>& value) {
    if (!value) return;
    const double slack = kRounding * std::abs(j.need);
    if (j.higher_is_better ? *value < j.need - slack : *value > j.need + slack)
      place.at(key).refuse(
          fmt::format("{} misses the need of {}, and yet it is PASS: edited by hand?", *value, j.need));
  };
  check("measured", j.measured);
  if (j.higher_is_better)
    check("low", j.low);
  else
    check("high", j.high);
}

Judgement read_judgement(const JsonPlace& place) {
  Judgement j;
  read_fields(place, j);
  check_pass(place, j);
  return j;
}

/// For points whose ends the document lacks: the numbers in its own words. These can only reduce the judgements'
/// certainty.
PointCounts reported_points(const JsonPlace& summary, const std::vector<Outcome>& outcomes) {
  PointCounts reported;
  const auto word = outcome_named(summary.at("word").text());
  const auto errors = static_cast<unsigned>(std::count(outcomes.begin(), outcomes.end(), Outcome::error));
  reported.failed = static_cast<unsigned>(std::min<std::uint64_t>(summary.whole("error", 0), UINT_MAX));
  reported.failed = reported.failed > errors ? reported.failed - errors : 0;
  if (word == Outcome::error && errors == 0) reported.failed = std::max(1u, reported.failed);  // was not counted once
  if (!outcomes.empty()) return reported;
  const std::uint64_t least = word == Outcome::skipped || word == Outcome::incomplete ? 1 : 0;  // nor was this
  reported.skipped = static_cast<unsigned>(std::clamp<std::uint64_t>(summary.whole("skipped", 0), least, UINT_MAX - 1));
  reported.all = reported.skipped + (word != Outcome::skipped);
  return reported;
}

PointCounts counted(const std::vector<StoredStatus>& points, const StoredVerdict& verdict) {
  PointCounts counts{.all = static_cast<unsigned>(points.size())};
  for (const StoredStatus& point : points) {
    counts.skipped += point.status == "skipped";
    counts.failed += point.status == "error" &&
                     std::none_of(verdict.judgements.begin(), verdict.judgements.end(), [&point](const Judgement& j) {
                       return j.outcome == Outcome::error && j.point == point.point;
                     });
  }
  return counts;
}

/// Throws where `reported` is not the outcome of judgements and points.
void check_summary(const JsonPlace& reported, const Summary& is, const PointCounts& points) {
  // Older files count needs alone.
  const bool needs_alone = !reported.has("needs");
  const std::pair<Outcome, unsigned> counts[] = {{Outcome::pass, is.pass},
                                                 {Outcome::fail, is.fail},
                                                 {Outcome::inconclusive, is.inconclusive},
                                                 {Outcome::skipped, needs_alone && is.needs == 0 ? 0 : is.skipped},
                                                 {Outcome::error, needs_alone ? is.error - points.failed : is.error}};
  const auto check = [&reported](const char* key, const auto& value, const auto& expected, std::string_view of) {
    if (value != expected)
      reported.at(key).refuse(
          fmt::format("summary says {}{}, the judgements say {}: edited by hand?", value, of, expected));
  };
  for (const auto& [outcome, count] : counts) {
    const std::string word(to_string(outcome));
    std::string key = word;
    std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
    check(key.c_str(), reported.whole(key, count), count, " " + word);
  }
  check("needs", reported.whole("needs", is.needs), is.needs, " needs");
  check("word", reported.at("word").text(), to_string(is.word), "");
  check("exit_code", reported.at("exit_code").whole(), static_cast<unsigned>(is.exit_code), " as exit code");
}

}  // namespace

Outcome outcome_at(const JsonPlace& place, std::span<const Outcome> allowed) {
  const std::string word = place.text();
  const auto outcome = outcome_named(word);
  if (outcome && std::find(allowed.begin(), allowed.end(), *outcome) != allowed.end()) return *outcome;
  std::vector<std::string> words;
  for (const Outcome one : allowed) words.emplace_back(to_string(one));
  place.refuse(fmt::format("'{}' is not one of: {}", word, join(words)));
}

unsigned StoredVerdict::count(Outcome outcome) const {
  return static_cast<unsigned>(
      std::count_if(judgements.begin(), judgements.end(), [&](const Judgement& j) { return j.outcome == outcome; }));
}

unsigned StoredVerdict::thin() const {
  return static_cast<unsigned>(std::count_if(judgements.begin(), judgements.end(),
                                             [](const Judgement& j) { return j.outcome == Outcome::pass && j.thin; }));
}

Remark StoredVerdict::remark() const {
  if (judgements.empty()) return Remark::nothing_asked;
  return thin() > 0 ? Remark::thin : Remark::none;
}

std::optional<double> unix_seconds(const std::string& utc) {
  tm whole{};
  const char* rest = strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%S", &whole);
  if (rest == nullptr) return std::nullopt;
  double fraction = 0, digit = 0.1;
  if (*rest == '.')
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, digit /= 10) fraction += (*rest - '0') * digit;
  if (std::string_view(rest) != "Z") return std::nullopt;
  return static_cast<double>(timegm(&whole)) + fraction;
}

std::string StoredVerdict::measuring_command() const {
  if (!from_job_by.empty()) return fmt::format("headrace {} {}", from_job_by, shell_word(config_file));
  return fmt::format("headrace run -c {}", config_file.empty() ? "CONFIG" : shell_word(config_file));
}

double StoredVerdict::ended_s() const {
  const auto started = unix_seconds(started_utc);
  return started ? *started + elapsed_s : 0;
}

nlohmann::json parse_kind(std::string_view text, std::string_view kind, const std::vector<std::string>& ignored) {
  nlohmann::json document = parse_json(text, ignored);
  const std::string what(kind.substr(kind.find('.') + 1));
  if (!document.is_object() || JsonPlace(document).text("kind", "") != kind)
    throw UsageError(fmt::format("not a {} file: no \"kind\": \"{}\"", what, kind));
  if (!document.contains("schema") || document["schema"] != kSchema)
    throw UsageError(fmt::format("schema {}: this headrace reads schema {}; use the headrace that wrote the file",
                                 document.contains("schema") ? document["schema"].dump() : "not reported", kSchema));
  return document;
}

void read_verdict(const JsonPlace& root, const std::optional<std::vector<StoredStatus>>& points,
                  StoredVerdict& verdict) {
  const JsonPlace about = root.at("run"), summary = root.at("summary");
  verdict.id = about.at("id").text();
  verdict.name = about.at("name").text();
  verdict.started_utc = about.at("started_utc").text();
  verdict.node = about.at("node").text();
  verdict.elapsed_s = about.number("elapsed_s", 0);
  verdict.config_file = about.text("config_file", "");
  verdict.from_job_by = about.text("from_job_by", "");
  verdict.config_hash = about.text("config_hash", "");
  verdict.target = about.text("target", "");
  if (about.has("command")) verdict.command = about.at("command").texts();
  if (root.has("headrace")) {
    verdict.version = root.at("headrace").text("version", "");
    verdict.revision = root.at("headrace").text("revision", "");
    verdict.build_type = root.at("headrace").text("build_type", "Release");  // older files do not have it
    verdict.sanitizers = root.at("headrace").text("sanitizers", "");
  }
  verdict.signal = static_cast<int>(std::min<std::uint64_t>(about.whole("signal", 0), 127));
  if (root.has("judgements"))
    root.at("judgements").each([&](const JsonPlace& place) { verdict.judgements.push_back(read_judgement(place)); });
  std::vector<Outcome> outcomes;
  for (const Judgement& j : verdict.judgements) outcomes.push_back(j.outcome);
  const PointCounts counts = points ? counted(*points, verdict) : reported_points(summary, outcomes);
  verdict.summary = summarize(outcomes, verdict.signal, counts);
  check_summary(summary, verdict.summary, counts);
}

constexpr std::size_t kMostVerdict = std::size_t{16} << 20;  // [B]

StoredVerdict read_verdict_file(const std::string& path) {
  std::error_code ignored;
  const std::string file = fs::is_directory(path, ignored) ? (fs::path(path) / "verdict.json").string() : path;
  if (fs::path(file).filename() == "run.json" && fs::is_regular_file(file, ignored)) {
    const std::string folder = fs::path(file).parent_path().string();
    throw UsageError(
        fmt::format("{}: is a run, not its verdict: give the folder {}", file, folder.empty() ? "." : folder));
  }
  try {
    const nlohmann::json document = parse_kind(file_text(file, kMostVerdict), "headrace.verdict");
    StoredVerdict verdict;
    verdict.path = file;
    read_verdict(JsonPlace(document), std::nullopt, verdict);
    return verdict;
  } catch (const UsageError& e) {
    throw UsageError(file + ": " + e.what());
  }
}

}  // namespace headrace::results
