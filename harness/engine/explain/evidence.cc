#include "harness/engine/explain/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/statistics/steady.h"
#include "harness/judge/statistics/summary.h"
#include "harness/workload/workload.h"

namespace headrace::engine {
namespace {

constexpr double kLongRepetition_s = 600;

/// A metric needs 10/(1 - p) operations per repetition; a part's or phase's percentile counts that
/// one's.
bool too_few_operations(const MetricInfo& metric, const PointResult& result) {
  const std::optional<double> share = percentile_of(metric.name);
  if (!share) return false;
  const std::vector<std::string>& parts = result.latency_parts;
  const auto part = std::find_if(parts.begin(), parts.end(),
                                 [&](const std::string& p) { return metric.name.starts_with(p + "_latency_"); });
  const auto names = [&](const PhaseResult& phase) { return metric.name.starts_with(phase.name + "_latency_"); };
  for (const Repetition& r : result.repetitions) {
    if (!r.counted) continue;
    const bool of_one_phase = std::any_of(r.phases.begin(), r.phases.end(), names);
    double operations = 0;
    for (const PhaseResult& phase : r.phases) {
      if (of_one_phase && !names(phase)) continue;
      const std::uint64_t n =
          part == parts.end() ? phase.operations : phase.parts[static_cast<std::size_t>(part - parts.begin())].total();
      operations += static_cast<double>(n);
    }
    if (operations * (1 - *share) < 10 - 1e-9) return true;
  }
  return false;
}

/// Rule 19: one repetition of more than ten minutes may count alone, bounded by its batches.
std::optional<statistics::SingleRun> single_run(const PointResult& result, std::string_view unit) {
  const Repetition* only = nullptr;
  for (const Repetition& r : result.repetitions) {
    if (!r.counted) continue;
    if (only != nullptr) return std::nullopt;
    only = &r;
  }
  if (only == nullptr || only->phases.size() != 1 || only->phases[0].elapsed_s < kLongRepetition_s) return std::nullopt;
  std::vector<double> rates;
  for (const SeriesPoint& p : only->phases[0].series) {
    if (p.time_s >= only->phases[0].steady_from_s) rates.push_back(unit == "B/s" ? p.bytes_per_s : p.operations_per_s);
  }
  return statistics::batch_means(rates);
}

}  // namespace

void summarize_metrics(std::span<const MetricInfo> catalogue, PointResult& result) {
  result.metrics.clear();
  for (const MetricInfo& info : catalogue) {
    MetricSummary summary;
    std::vector<double> seconds;
    for (const Repetition& r : result.repetitions) {
      if (!r.counted) continue;
      for (const MetricValue& v : r.metrics) {
        if (v.name != info.name) continue;
        summary.values.push_back(v.value);
        seconds.push_back(v.seconds > 0 ? v.seconds : elapsed_of(r.phases));
      }
    }
    if (summary.values.empty()) continue;
    summary.name = info.name;
    summary.unit = info.unit;
    summary.better = info.better;
    summary.description = info.description;
    summary.median = statistics::median(summary.values);
    const bool is_rate = info.unit.ends_with("/s") && std::ranges::all_of(seconds, [](double s) { return s > 0; });
    if (is_rate)
      summary.mean_over_time = std::inner_product(seconds.begin(), seconds.end(), summary.values.begin(), 0.0) /
                               std::accumulate(seconds.begin(), seconds.end(), 0.0);
    const statistics::Interval bounds =
        is_rate ? statistics::rate_interval(summary.values, seconds) : statistics::median_interval(summary.values);
    summary.low = bounds.low;
    summary.high = bounds.high;
    summary.is_range = bounds.is_range;
    summary.too_few_operations = too_few_operations(info, result);
    result.metrics.push_back(std::move(summary));
  }
  result.single_run.clear();
  for (const char* unit : {"B/s", "1/s"})
    if (const auto alone = single_run(result, unit)) result.single_run[unit] = *alone;
}

PointResult unmeasured(const Point& point) {
  PointResult result;
  result.point = &point;
  result.unproven = point.unproven;
  result.deterministic = point.info->traits.deterministic;
  result.across_ranks = point.info->traits.across_ranks;
  result.workers = point.workload->workers();
  result.latency_parts = point.workload->latency_parts();
  return result;
}

std::vector<PartFault> faults_of(const PointResult& result) {
  std::vector<PartFault> all = result.faults;
  for (const Repetition& r : result.repetitions) add_faults(all, r.faults);
  for (const WrongBlock& wrong : result.wrong_blocks)
    if (!wrong.part.empty())
      add_faults(all, {{wrong.part, "wrong_elements", 1,
                        fmt::format("{} at offset {}: {}", wrong.file, wrong.offset, wrong.why)}});
  return all;
}

judging::RecordedRepetition recorded(const Repetition& r) {
  judging::RecordedRepetition one;
  one.look = r.look;
  one.counted = r.counted;
  one.ok = r.status == RepetitionStatus::ok;
  one.elapsed_s = elapsed_of(r.phases);
  for (const MetricValue& v : r.metrics) {
    one.metrics[v.name] = v.value;
    if (v.seconds > 0) one.seconds[v.name] = v.seconds;
  }
  one.is_evidence = r.cache.is_evidence();
  one.state_why = r.cache.why;
  one.warm_names = r.cache.warm_names;
  one.disturbed = r.disturbance.disturbed;
  one.disturbed_why = r.disturbance.why;
  one.steady = r.steady;
  one.steady_why = r.steady_why;
  one.pairs = r.pairs;
  return one;
}

judging::RecordedPoint recorded(const PointResult& result) {
  judging::RecordedPoint all;
  all.id = result.point->id;
  all.workload = result.point->info->name;
  all.params = result.point->params;
  all.cache = result.point->cache;
  all.status = result.status;
  all.reason = result.reason;
  all.unproven = result.unproven;
  all.left_out = {result.left_out.begin(), result.left_out.end()};
  all.looks = result.looks;
  all.deterministic = result.deterministic;
  all.adds = result.across_ranks == AcrossRanks::add;
  all.nodes = result.nodes;
  all.processes = result.processes;
  all.group = result.group;
  for (const MetricSummary& m : result.metrics)
    if (m.too_few_operations) all.too_few_operations.push_back(m.name);
  all.missing = result.missing;
  all.single_run = result.single_run;
  all.measured_again = result.measured_again;
  for (const Repetition& r : result.repetitions) all.repetitions.push_back(recorded(r));
  all.faults = faults_of(result);
  return all;
}

std::vector<judging::RecordedPoint> recorded(std::span<const PointResult> points) {
  std::vector<judging::RecordedPoint> all;
  for (const PointResult& p : points) all.push_back(recorded(p));
  return all;
}

}  // namespace headrace::engine
