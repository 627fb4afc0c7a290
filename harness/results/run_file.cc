#include "harness/results/run_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "harness/base/file_text.h"
#include "harness/engine/explain/evidence.h"
#include "harness/judge/statistics/summary.h"
#include "harness/results/default_params.h"
#include "harness/results/fields_json.h"
#include "harness/results/json_place.h"
#include "harness/results/repetition_json.h"
#include "harness/results/stored_record.h"

namespace headrace::results {
namespace {

namespace fs = std::filesystem;

/// Long lists that no comparison reads.
const std::vector<std::string> kIgnored = {"series", "worker_finish_s", "worker_bytes", "resident"};

/// The element of a report page that carries its run.
constexpr std::string_view kCarrier = "<script type=\"application/json\" id=\"headrace-run\">";

bool is_near(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));  // pages carry 7 digits
}

StoredMetric read_metric(const JsonPlace& place) {
  StoredMetric metric;
  read_fields(place, metric);
  if (!place.has("low")) metric.low = metric.median;
  if (!place.has("high")) metric.high = metric.median;
  if (!metric.values.empty() && !is_near(metric.median, statistics::median(metric.values)))
    place.at("median").refuse(fmt::format("{} is not the median of the values, {}: was the file changed by hand?",
                                          metric.median, statistics::median(metric.values)));
  if (metric.low > metric.high)
    place.at("low").refuse(fmt::format("{} is above \"high\", {}", metric.low, metric.high));
  return metric;
}

/// The times of the values of a metric; empty where the file does not hold one for each.
std::vector<double> seconds_of(const judging::RecordedPoint& recorded, const StoredMetric& metric) {
  std::vector<double> all;
  for (const judging::RecordedRepetition& r : recorded.repetitions) {
    if (!r.counted || !r.ok || !r.metrics.contains(metric.name)) continue;
    const auto own = r.seconds.find(metric.name);
    all.push_back(own == r.seconds.end() ? r.elapsed_s : own->second);
  }
  if (all.size() != metric.values.size() || std::ranges::any_of(all, [](double s) { return s <= 0; })) all.clear();
  return all;
}

/// A rate's mean over time follows from its values and their times. Without those it is the file's, if that is among
/// the values, else each value counts alike.
void set_mean_over_time(const judging::RecordedPoint& recorded, StoredMetric& metric) {
  if (metric.values.empty() || !metric.unit.ends_with("/s")) return;
  std::vector<double> seconds = seconds_of(recorded, metric);
  const auto [low, high] = std::minmax_element(metric.values.begin(), metric.values.end());
  if (seconds.empty() && metric.mean_over_time && *low <= *metric.mean_over_time && *metric.mean_over_time <= *high)
    return;
  if (seconds.empty()) seconds.assign(metric.values.size(), 1);
  metric.mean_over_time = std::inner_product(metric.values.begin(), metric.values.end(), seconds.begin(), 0.0) /
                          std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

/// Adds to the latencies of the same phase and part.
void merge(const std::string& phase, const std::string& part, const Histogram& histogram, StoredPoint& point) {
  if (histogram.total() == 0) return;
  for (StoredLatency& known : point.latency)
    if (known.phase == phase && known.part == part) return known.histogram.merge(histogram);
  point.latency.push_back({phase, part, histogram});
}

StoredRepetition stored(const Repetition& r) {
  StoredRepetition one{engine::recorded(r)};
  one.pairs.reset();  // those that count are in StoredPoint::pairs_each
  one.index = r.index;
  one.began_unix_s = r.began_unix_s;
  one.ended_unix_s = r.ended_unix_s;
  for (const PhaseResult& phase : r.phases) one.operations += phase.operations;
  return one;
}

/// A point's facts on its counting repetitions.
struct Shares {
  unsigned disturbed = 0, unsteady = 0;

  void add(const Repetition& r, const PartNames& parts, StoredPoint& point) {
    point.each.push_back(stored(r));
    if (!r.counted || r.status != RepetitionStatus::ok) return;
    ++point.repetitions;
    if (r.pairs) point.pairs_each.push_back(*r.pairs);
    disturbed += r.disturbance.disturbed;
    unsteady += !r.steady;
    for (const PhaseResult& phase : r.phases) {
      merge(phase.name, "", phase.latency, point);
      for (std::size_t i = 0; i < phase.parts.size(); ++i) merge(phase.name, parts[i], phase.parts[i], point);
    }
  }
};

StoredPoint read_point(const JsonPlace& place) {
  StoredPoint point;
  point.id = place.at("id").text();
  point.workload = place.at("workload").text();
  point.status = place.at("status").text();
  point.description = place.text("description", "");
  point.reason = place.text("reason", "");
  point.cache = place.text("cache", "asis");
  point.workers = static_cast<unsigned>(place.whole("workers", 1));
  if (place.has("nodes")) {
    const std::uint64_t nodes = place.at("nodes").whole();
    constexpr std::uint64_t kMost = 1 << 24;  // more than any cluster has
    if (nodes < 1 || nodes > kMost) place.at("nodes").refuse(fmt::format("{}: must be 1..{}", nodes, kMost));
    point.nodes = static_cast<unsigned>(nodes);
  }
  point.deterministic = place.flag("deterministic", false);
  point.elapsed_s = place.number("elapsed_s", 0);
  if (place.has("params"))
    place.at("params").each_member(
        [&](const std::string& key, const JsonPlace& value) { point.params[key] = value.word(); });
  add_default_params(point.workload, point.params);
  point.params["cache"] = point.cache;
  if (place.has("notes")) point.notes = place.at("notes").texts();
  std::set<std::string> names;
  place.at("metrics").each([&](const JsonPlace& metric) {
    point.metrics.push_back(read_metric(metric));
    if (!names.insert(point.metrics.back().name).second)
      metric.refuse("a second metric '" + point.metrics.back().name + "'");
  });
  if (place.has("pairs")) point.pairs = read_pairs(place.at("pairs"));
  Shares shares;
  point.record =
      read_recorded_point(place, [&](const Repetition& r, const PartNames& parts) { shares.add(r, parts, point); });
  for (StoredMetric& metric : point.metrics) set_mean_over_time(point.record, metric);
  const double count = std::max(1u, point.repetitions);
  point.disturbed_share = shares.disturbed / count;
  point.not_steady_share = shares.unsteady / count;
  point.cache_unproven_share = point.record.unproven_share();
  point.record.repetitions.clear();
  return point;
}

/// The run inside a report page.
std::string_view carried(std::string_view page) {
  const std::size_t begin = page.find(kCarrier);
  if (begin == page.npos) throw UsageError("this page carries no run: give the run folder or its run.json");
  const std::size_t from = begin + kCarrier.size(), end = page.find("</script>", from);
  if (end == page.npos) throw UsageError("the page ends in the middle (truncated)");
  return page.substr(from, end - from);
}

}  // namespace

const StoredMetric* StoredPoint::find(std::string_view metric) const {
  for (const StoredMetric& m : metrics)
    if (m.name == metric) return &m;
  return nullptr;
}

judging::RecordedPoint StoredPoint::recorded() const {
  judging::RecordedPoint point = record;
  point.repetitions.assign(each.begin(), each.end());
  return point;
}

const StoredPoint* StoredRun::find(std::string_view point) const {
  for (const StoredPoint& p : points)
    if (p.id == point) return &p;
  return nullptr;
}

StoredRun parse_run(std::string_view text, const std::string& path) {
  const nlohmann::json document = parse_kind(text, "headrace.run", kIgnored);
  const JsonPlace root(document);
  StoredRun run;
  run.path = path;
  std::vector<StoredStatus> statuses;
  root.at("points").each([&](const JsonPlace& place) {
    statuses.push_back({place.at("id").text(), place.at("status").text()});
  });
  read_verdict(root, statuses, run);
  if (root.has("job")) {
    run.job_name = root.at("job").text("name", "");
    if (root.at("job").has("values"))
      root.at("job").at("values").each_member(
          [&](const std::string& key, const JsonPlace& value) { run.job[key] = value.word(); });
  }
  std::set<std::string> ids;
  root.at("points").each([&](const JsonPlace& place) {
    run.points.push_back(read_point(place));
    if (!ids.insert(run.points.back().id).second) place.refuse("a second point '" + run.points.back().id + "'");
  });
  if (root.has("environment"))
    root.at("environment").each_member([&](const std::string& section, const JsonPlace& facts) {
      facts.each_member(
          [&](const std::string& key, const JsonPlace& value) { run.environment[section + "." + key] = value.word(); });
    });
  if (root.has("rehearsal") && root.at("rehearsal").has("prediction")) {
    const JsonPlace prediction = root.at("rehearsal").at("prediction");
    run.prediction = {.predicted = prediction.at("utilization").at("value").number(),
                      .error = prediction.at("error").number(),
                      .grade = prediction.at("grade").text()};
  }
  if (root.has("expected"))
    root.at("expected").each([&](const JsonPlace& one) {
      run.expected.push_back({one.at("point").text(), one.at("metric").text(), one.text("part_kind", ""),
                              one.text("standing", ""), one.text("told", "")});
    });
  if (root.has("noise_floor")) {
    read_fields(root.at("noise_floor"), run.noise.emplace());
  }
  return run;
}

std::string run_file_in(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? (fs::path(path) / "run.json").string() : path;
}

StoredRun read_run_file(const std::string& path) {
  const std::string file = run_file_in(path);
  try {
    const std::string text = file_text(file);
    return parse_run(file.ends_with(".html") ? carried(text) : text, file);
  } catch (const UsageError& e) {
    throw UsageError(file + ": " + e.what());
  }
}

}  // namespace headrace::results
