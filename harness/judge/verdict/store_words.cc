#include "harness/judge/verdict/store_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/units.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::judging {
namespace {

constexpr double kLatencies = 9;  // D1: at nine times t0 * w1 a request spends nine tenths of its time on data
constexpr double kWorthReporting = 1.1;
constexpr double kBody = 0.05;  // of the time to the first byte: a body that took less does not show the rate

std::optional<double> median_of(const RecordedPoint& point, const char* metric) {
  const std::vector<double> values = point.values(metric);
  if (values.empty()) return std::nullopt;
  return statistics::median(values);
}

/// Processor time per unit of the metric [s], and whether the point gives `need`.
struct Cost {
  const RecordedPoint* point = nullptr;
  double each_s = 0;
};

std::optional<Cost> cost_of(const RecordedPoint& point, const std::string& metric, const Judgement& j) {
  if (!read_objects(point) || point.status != PointStatus::ok || j.metric != point.workload + "." + metric)
    return std::nullopt;
  const auto rate = median_of(point, metric.c_str()), cpu = median_of(point, "cpu_s"),
             took = median_of(point, "elapsed_s");
  if (!rate || !cpu || !took || *rate < j.need || *took <= 0) return std::nullopt;
  return Cost{&point, *cpu / *took / *rate};
}

void report_least_cost(const RecordedPoint& own, std::span<const RecordedPoint> points, const std::string& metric,
                       Judgement& j) {
  std::optional<Cost> least;
  for (const RecordedPoint& point : points) {
    const auto cost = cost_of(point, metric, j);
    if (cost && (!least || cost->each_s < least->each_s)) least = cost;
  }
  if (!least) return;
  const auto cores = [&](double each_s) { return fmt::format("{:.2g} cores", each_s * j.need); };
  const auto mine = cost_of(own, metric, j);
  if (least->point == &own || (mine && mine->each_s < kWorthReporting * least->each_s)) {
    j.explanation += fmt::format(" The needed rate takes {} so.", cores(mine->each_s));
    return;
  }
  j.explanation +=
      fmt::format(" Of the tested settings, {} reaches it with the least processor time, {}{}.", least->point->id,
                  cores(least->each_s), mine ? fmt::format(" instead of {}", cores(mine->each_s)) : "");
}

}  // namespace

bool read_objects(const RecordedPoint& point) {
  return std::any_of(point.repetitions.begin(), point.repetitions.end(),
                     [](const RecordedRepetition& r) { return r.metrics.count("requests_in_flight") > 0; });
}

/// A store that throttles shows its limit for any client, and not what the network could carry.
void report_throttling(const RecordedPoint& point, Judgement& j) {
  double share = 0;
  unsigned counted = 0;
  for (const RecordedRepetition& r : point.repetitions) {
    const auto at = r.metrics.find("throttled_share");
    if (!r.counted || at == r.metrics.end()) continue;
    share += at->second;
    ++counted;
  }
  if (share == 0) return;
  j.explanation +=
      fmt::format(" The store throttled {:.3g} % of the requests (503 SlowDown or 429).", 100 * share / counted);
  if (j.outcome == Outcome::pass) return;
  j.next_step =
      "the limit is the store's, for this account, bucket or prefix: have it raised, spread the objects over more "
      "prefixes, or read fewer and larger ones";
}

void report_requests(const RecordedPoint& point, std::span<const RecordedPoint> points, const std::string& metric,
                     Judgement& j) {
  const bool is_rate = j.unit == "B/s" || j.unit == "1/s";
  const auto in_flight = median_of(point, "requests_in_flight"), rate = median_of(point, metric.c_str());
  if (point.processes > 1 || !is_rate || !in_flight || !rate || *rate <= 0 || j.need <= 0) return;
  j.explanation += fmt::format(" {:.3g} requests were in flight; by their latency the need takes {:.0f}.", *in_flight,
                               std::max(1.0, std::ceil(*in_flight * j.need / *rate)));
  const auto first = median_of(point, "first_byte_latency_p50_ns"), all = median_of(point, "latency_p50_ns");
  const auto bytes = median_of(point, "read_bandwidth"), requests = median_of(point, "read_iops");
  if (first && all && bytes && requests && *requests > 0 && *all > (1 + kBody) * *first && *first > 0) {
    const double size = *bytes / *requests, stream = size / (1e-9 * (*all - *first));
    j.explanation += fmt::format(
        " Of each, {} went by to the first byte and {} to the last: requests of {} and more would "
        "spend nine tenths of their time on data.",
        format_quantity(1e-9 * *first, Dimension::seconds), format_quantity(1e-9 * *all, Dimension::seconds),
        format_quantity(kLatencies * 1e-9 * *first * stream, Dimension::bytes));
  }
  report_least_cost(point, points, metric, j);
}

}  // namespace headrace::judging
