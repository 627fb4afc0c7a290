#include "harness/engine/evidence.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "harness/statistics/steady.h"
#include "harness/statistics/summary.h"

namespace headrace::engine {
namespace {

constexpr double kLongRepetition_s = 600;

/// A metric needs 10/(1 - p) operations per repetition; a part's or phase's percentile counts that
/// one's.
bool too_few_operations(const MetricInfo& metric, const PointResult& result) {
  const std::optional<double> share = percentile_of(metric.name);
  if (!share) return false;
  const std::vector<std::string> parts = result.point->workload->latency_parts();
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const std::string& p) {
    return metric.name.starts_with(p + "_latency_");
  });
  const auto names = [&](const PhaseResult& phase) {
    return metric.name.starts_with(phase.name + "_latency_");
  };
  for (const Repetition& r : result.repetitions) {
    if (!r.counted) continue;
    const bool of_one_phase = std::any_of(r.phases.begin(), r.phases.end(), names);
    double operations = 0;
    for (const PhaseResult& phase : r.phases) {
      if (of_one_phase && !names(phase)) continue;
      const std::uint64_t n =
          part == parts.end() ? phase.operations
                              : phase.parts[static_cast<std::size_t>(part - parts.begin())].total();
      operations += static_cast<double>(n);
    }
    if (operations * (1 - *share) < 10 - 1e-9) return true;
  }
  return false;
}

/// Shares of the repetitions, and why of the first.
void look_at_repetitions(const PointResult& result, Evidence& e) {
  double taken = 0, counted = 0, unproven = 0, disturbed = 0, not_steady = 0;
  const bool proves =
      result.point->workload->files() != nullptr && result.point->cache != CacheState::asis;
  const unsigned looks = static_cast<unsigned>(result.looks.looks.size());
  const auto note = [](std::string& why, const std::string& text) {
    if (why.empty()) why = text;
  };
  for (const Repetition& r : result.repetitions) {
    if (r.status != RepetitionStatus::ok || r.look >= looks) continue;
    ++taken;
    if (r.disturbance.disturbed) {
      ++disturbed;
      note(e.disturbed_why, r.disturbance.why);
    }
    if (!r.counted) continue;
    ++counted;
    if (!r.steady) {
      ++not_steady;
      note(e.not_steady_why, r.steady_why);
    }
    if (proves && !r.cache.proven) {
      ++unproven;
      note(e.cache_why, r.cache.why);
    }
  }
  if (counted == 0) return;
  e.disturbed_share = disturbed / taken;
  e.not_steady_share = not_steady / counted;
  e.cache_unproven_share = unproven / counted;
}

/// Rule 2: one repetition of more than ten minutes may stand alone, bounded by its batches.
std::optional<statistics::SingleRun> single_run(const PointResult& result, std::string_view unit) {
  if (unit != "B/s" && unit != "1/s") return std::nullopt;
  const Repetition* only = nullptr;
  for (const Repetition& r : result.repetitions) {
    if (!r.counted) continue;
    if (only != nullptr) return std::nullopt;
    only = &r;
  }
  if (only == nullptr || only->phases.size() != 1 || only->phases[0].elapsed_s < kLongRepetition_s)
    return std::nullopt;
  std::vector<double> rates;
  for (const SeriesPoint& p : only->phases[0].series) {
    if (p.time_s >= only->phases[0].steady_from_s)
      rates.push_back(unit == "B/s" ? p.bytes_per_s : p.operations_per_s);
  }
  return statistics::batch_means(rates);
}

}  // namespace

void summarize_metrics(std::span<const MetricInfo> catalogue, PointResult& result) {
  result.metrics.clear();
  for (const MetricInfo& info : catalogue) {
    MetricSummary summary;
    for (const Repetition& r : result.repetitions) {
      if (!r.counted) continue;
      for (const MetricValue& v : r.metrics) {
        if (v.name == info.name) summary.values.push_back(v.value);
      }
    }
    if (summary.values.empty()) continue;
    summary.name = info.name;
    summary.unit = info.unit;
    summary.better = info.better;
    summary.description = info.description;
    summary.median = statistics::median(summary.values);
    summary.interval = statistics::median_interval(summary.values);
    summary.too_few_operations = too_few_operations(info, result);
    result.metrics.push_back(std::move(summary));
  }
}

Evidence gather(const PointResult& result, std::string_view unit, std::span<const double> values) {
  Evidence e;
  e.values = values;
  e.deterministic = result.point->workload->deterministic();
  if (e.deterministic) return e;
  e.rank = statistics::rank_for(result.looks, values.size());
  look_at_repetitions(result, e);
  e.single_run = single_run(result, unit);
  return e;
}

}  // namespace headrace::engine
