#include "harness/results/run_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/results/json_place.h"
#include "harness/results/result_store.h"
#include "harness/statistics/summary.h"

namespace headrace::results {
namespace {

namespace fs = std::filesystem;

/// Long lists that no comparison reads.
const std::vector<std::string> kIgnored = {"series", "worker_finish_s", "worker_bytes", "resident"};

/// The element of a report page that carries its run.
constexpr std::string_view kCarrier = "<script type=\"application/json\" id=\"headrace-run\">";

Better better_of(const JsonPlace& place) {
  const std::string word = place.text();
  if (word == "higher") return Better::higher;
  if (word == "lower") return Better::lower;
  if (word == "neither") return Better::neither;
  place.refuse(fmt::format("'{}' is not one of: higher, lower, neither", word));
}

bool is_near(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));  // pages carry 7 digits
}

StoredMetric read_metric(const JsonPlace& place) {
  StoredMetric metric;
  metric.name = place.at("name").text();
  metric.unit = place.at("unit").text();
  metric.description = place.text("description", "");
  if (place.has("better")) metric.better = better_of(place.at("better"));
  metric.values = place.at("values").numbers();
  metric.median = place.number("median", 0);
  metric.low = place.number("low", metric.median);
  metric.high = place.number("high", metric.median);
  metric.is_range = place.flag("is_range", false);
  metric.too_few_operations = place.flag("too_few_operations", false);
  if (!metric.values.empty() && !is_near(metric.median, statistics::median(metric.values)))
    place.at("median").refuse(
        fmt::format("{} is not the median of the values, {}: was the file changed by hand?",
                    metric.median, statistics::median(metric.values)));
  if (metric.low > metric.high)
    place.at("low").refuse(fmt::format("{} is above \"high\", {}", metric.low, metric.high));
  return metric;
}

Histogram read_histogram(const JsonPlace& place) {
  std::vector<Histogram::Bucket> buckets;
  place.at("buckets").each([&](const JsonPlace& pair) {
    std::vector<std::uint64_t> both;
    pair.each([&](const JsonPlace& item) { both.push_back(item.whole()); });
    if (both.size() != 2) pair.refuse("a list of bucket and count is expected");
    if (both[0] >= Histogram::kBuckets) pair.refuse("there is no such bucket");
    if (!buckets.empty() && buckets.back().index >= both[0]) pair.refuse("buckets must ascend");
    buckets.push_back({static_cast<std::uint32_t>(both[0]), both[1]});
  });
  return Histogram::from(buckets, place.whole("min_ns", 0), place.whole("max_ns", 0));
}

/// Adds to the latencies of the same phase and part.
void merge(const std::string& phase, const std::string& part, const JsonPlace& place,
           StoredPoint& point) {
  const Histogram histogram = read_histogram(place);
  if (histogram.total() == 0) return;
  for (StoredLatency& known : point.latency)
    if (known.phase == phase && known.part == part) return known.histogram.merge(histogram);
  point.latency.push_back({phase, part, histogram});
}

/// What a point knows of its repetitions that count.
void read_repetitions(const JsonPlace& list, StoredPoint& point) {
  unsigned disturbed = 0, unproven = 0, unsteady = 0;
  list.each([&](const JsonPlace& place) {
    if (!place.flag("counted", true) || place.text("status", "ok") != "ok") return;
    ++point.repetitions;
    if (place.has("disturbance")) disturbed += place.at("disturbance").flag("disturbed", false);
    if (place.has("cache") && point.cache != "asis")
      unproven += !place.at("cache").flag("proven", true);
    unsteady += !place.flag("steady", true);
    if (!place.has("phases")) return;
    place.at("phases").each([&](const JsonPlace& phase) {
      const std::string name = phase.text("name", "");
      if (phase.has("latency")) merge(name, "", phase.at("latency"), point);
      if (phase.has("parts"))
        phase.at("parts").each_member([&](const std::string& part, const JsonPlace& histogram) {
          merge(name, part, histogram, point);
        });
    });
  });
  const double count = std::max(1u, point.repetitions);
  point.disturbed_share = disturbed / count;
  point.cache_unproven_share = unproven / count;
  point.not_steady_share = unsteady / count;
}

StoredPoint read_point(const JsonPlace& place) {
  StoredPoint point;
  point.id = place.at("id").text();
  point.workload = place.at("workload").text();
  point.status = place.at("status").text();
  point.description = place.text("description", "");
  point.reason = place.text("reason", "");
  point.cache = place.text("cache", "asis");
  if (place.has("params"))
    place.at("params").each_member(
        [&](const std::string& key, const JsonPlace& value) { point.params[key] = value.word(); });
  point.params["cache"] = point.cache;
  std::set<std::string> names;
  place.at("metrics").each([&](const JsonPlace& metric) {
    point.metrics.push_back(read_metric(metric));
    if (!names.insert(point.metrics.back().name).second)
      metric.refuse("a second metric '" + point.metrics.back().name + "'");
  });
  if (place.has("repetitions")) read_repetitions(place.at("repetitions"), point);
  return point;
}

/// What the run says of itself and how it was judged.
void read_head(const JsonPlace& root, StoredRun& run) {
  const JsonPlace about = root.at("run"), summary = root.at("summary");
  run.id = about.at("id").text();
  run.name = about.at("name").text();
  run.started_utc = about.at("started_utc").text();
  run.node = about.at("node").text();
  run.elapsed_s = about.number("elapsed_s", 0);
  run.config_file = about.text("config_file", "");
  run.config_hash = about.text("config_hash", "");
  if (about.has("command")) run.command = about.at("command").texts();
  if (root.has("headrace")) {
    run.version = root.at("headrace").text("version", "");
    run.revision = root.at("headrace").text("revision", "");
  }
  if (root.has("job")) {
    run.job_name = root.at("job").text("name", "");
    if (root.at("job").has("values"))
      root.at("job").at("values").each_member(
          [&](const std::string& key, const JsonPlace& value) { run.job[key] = value.word(); });
  }
  run.word = summary.at("word").text();
  run.exit_code = static_cast<int>(std::min<std::uint64_t>(summary.at("exit_code").whole(), 255));
  if (root.has("judgements"))
    root.at("judgements").each([&](const JsonPlace& place) {
      run.judgements.push_back({place.at("id").text(), place.text("scope", ""),
                                place.at("outcome").text(), place.text("point", ""),
                                place.text("metric", "")});
    });
}

/// The run inside a report page.
std::string_view carried(std::string_view page) {
  const std::size_t begin = page.find(kCarrier);
  if (begin == page.npos)
    throw UsageError("this page carries no run: give the run folder or its run.json");
  const std::size_t from = begin + kCarrier.size(), end = page.find("</script>", from);
  if (end == page.npos) throw UsageError("the page ends in the middle (truncated)");
  return page.substr(from, end - from);
}

std::string text_of(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.bad())
    throw UsageError(std::string("cannot be read: ") + std::strerror(errno ? errno : EIO));
  return std::move(text).str();
}

}  // namespace

const StoredMetric* StoredPoint::find(std::string_view metric) const {
  for (const StoredMetric& m : metrics)
    if (m.name == metric) return &m;
  return nullptr;
}

const StoredPoint* StoredRun::find(std::string_view point) const {
  for (const StoredPoint& p : points)
    if (p.id == point) return &p;
  return nullptr;
}

StoredRun parse_run(std::string_view text, const std::string& path) {
  const nlohmann::json document = parse_json(text, kIgnored);
  const JsonPlace root(document);
  if (!document.is_object() || root.text("kind", "") != "headrace.run")
    throw UsageError("not a run file: no \"kind\": \"headrace.run\"");
  if (!root.has("schema") || document["schema"] != kSchema)
    throw UsageError(fmt::format(
        "schema {}: this headrace reads schema {}; use the headrace that wrote the file",
        root.has("schema") ? document["schema"].dump() : "not told", kSchema));
  StoredRun run;
  run.path = path;
  read_head(root, run);
  std::set<std::string> ids;
  root.at("points").each([&](const JsonPlace& place) {
    run.points.push_back(read_point(place));
    if (!ids.insert(run.points.back().id).second)
      place.refuse("a second point '" + run.points.back().id + "'");
  });
  if (root.has("environment"))
    root.at("environment").each_member([&](const std::string& section, const JsonPlace& facts) {
      facts.each_member([&](const std::string& key, const JsonPlace& value) {
        run.environment[section + "." + key] = value.word();
      });
    });
  return run;
}

std::string run_file_in(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? (fs::path(path) / "run.json").string() : path;
}

StoredRun read_run_file(const std::string& path) {
  const std::string file = run_file_in(path);
  try {
    const std::string text = text_of(file);
    return parse_run(file.ends_with(".html") ? carried(text) : text, file);
  } catch (const UsageError& e) {
    throw UsageError(file + ": " + e.what());
  }
}

}  // namespace headrace::results
