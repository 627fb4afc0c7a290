#include "harness/engine/phase_result.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "harness/judge/statistics/steady.h"

namespace headrace::engine {

// Grouping of intervals, warm-up cut and steadiness of one phase.

namespace {

constexpr double kLongPhase_s = 600;
constexpr std::size_t kMostGroups = 128, kMostGroupsOfLong = 512;
constexpr double kOperationsPerGroup = 10;
constexpr std::size_t kFewestToCut = 16;  // groups; of fewer, chance decides where the cut is

struct Group {
  double begin_s = 0, end_s = 0;
  TimeSeries::Interval sum;
  double rate(std::uint64_t n) const { return static_cast<double>(n) / (end_s - begin_s); }
};

double latency_p99(const TimeSeries::Interval& interval) {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(0.99 * static_cast<double>(interval.operations)));
  std::uint64_t seen = 0;
  for (std::size_t b = 0; b < TimeSeries::kCoarse && wanted > 0; ++b) {
    seen += interval.latency[b];
    if (seen >= wanted) return TimeSeries::coarse_value(b);
  }
  return 0;
}

std::size_t group_size(const PhaseResult& phase, std::size_t used) {
  const std::size_t most = phase.elapsed_s > kLongPhase_s ? kMostGroupsOfLong : kMostGroups;
  const std::size_t for_number = (used + most - 1) / most;
  const double per_interval = static_cast<double>(phase.operations) / static_cast<double>(used);
  const auto for_operations = static_cast<std::size_t>(std::ceil(kOperationsPerGroup / per_interval));
  return std::clamp<std::size_t>(std::max(for_operations, for_number), 1, used);
}

std::vector<Group> grouped(const TimeSeries& series, const PhaseResult& phase) {
  const std::vector<TimeSeries::Interval>& all = series.intervals();
  std::size_t used = all.size();
  while (used > 0 && all[used - 1].operations == 0) --used;
  std::vector<Group> groups;
  if (used == 0 || phase.elapsed_s <= 0) return groups;
  const double interval_s = static_cast<double>(series.interval_ns()) * 1e-9;
  const std::size_t size = group_size(phase, used);
  for (std::size_t from = 0; from < used; from += size) {
    const std::size_t to = std::min(used, from + size);
    Group group;
    group.begin_s = static_cast<double>(from) * interval_s;
    group.end_s = static_cast<double>(to) * interval_s;
    for (std::size_t i = from; i < to; ++i) {
      group.sum.bytes += all[i].bytes;
      group.sum.operations += all[i].operations;
      for (std::size_t b = 0; b < TimeSeries::kCoarse; ++b) group.sum.latency[b] += all[i].latency[b];
    }
    groups.push_back(group);
  }
  // The last one ends with the last completion, unless that is right at its start.
  Group& last = groups.back();
  last.end_s = std::clamp(phase.elapsed_s, last.begin_s + interval_s / 8, last.end_s);
  return groups;
}

}  // namespace

std::string why_not_steady(std::span<const double> rates, Level must_be) {
  const statistics::Steady judged = statistics::judge_steady(rates);
  const bool faster = judged.halves_differ >= 0 && judged.drift >= 0;
  return must_be == Level::any || (must_be == Level::no_fall && faster) ? "" : judged.why;
}

void store_series(const TimeSeries& series, Window window, PhaseResult& phase, Starts& starts) {
  phase.series.clear();
  const std::vector<Group> groups = grouped(series, phase);
  for (const Group& g : groups) {
    phase.series.push_back({.time_s = (g.begin_s + g.end_s) / 2,
                            .bytes_per_s = g.rate(g.sum.bytes),
                            .operations_per_s = g.rate(g.sum.operations),
                            .latency_p99_ns = latency_p99(g.sum)});
  }
  // Judged: whole groups, and only while every worker was at work; a straggler is reported by
  // first_finish_s.
  const double until_s = std::min(phase.first_finish_s, phase.elapsed_s);
  std::vector<double> rates;
  for (std::size_t i = 0; i + 1 < groups.size() && groups[i].end_s <= until_s; ++i) {
    rates.push_back(groups[i].rate(phase.bytes > 0 ? groups[i].sum.bytes : groups[i].sum.operations));
  }
  const bool cuts = window == Window::settled && rates.size() >= kFewestToCut;
  const statistics::Start start = cuts ? statistics::differing_start(rates) : statistics::Start{};
  const bool comes_again = std::exchange(starts.slow, start.length > 0 && start.slow);
  const std::size_t cut = start.slow && !comes_again ? 0 : start.length;
  for (std::size_t i = 0; i < cut; ++i) {
    phase.cut_bytes += groups[i].sum.bytes;
    phase.cut_operations += groups[i].sum.operations;
    phase.steady_from_s = groups[i].end_s;
  }
  phase.not_steady = why_not_steady(std::span(rates).subspan(start.length), phase.must_be);
}

namespace {

using Recorders = std::span<const std::unique_ptr<Recorder>>;

/// All of `workers` together.
PhaseResult merged(Recorders workers, unsigned parts, std::uint64_t released_ns, TimeSeries& series) {
  PhaseResult phase;
  phase.parts.resize(parts);
  std::uint64_t first_start = UINT64_MAX, first_finish = UINT64_MAX, last_finish = 0;
  for (const auto& r : workers) {
    if (r->started_ns() == 0) continue;  // its set-up failed
    first_start = std::min(first_start, r->started_ns());
    first_finish = std::min(first_finish, r->finished_ns());
    last_finish = std::max(last_finish, r->finished_ns());
  }
  series.start(released_ns);
  if (last_finish == 0) return phase;
  const auto since_start = [first_start](std::uint64_t ns) { return static_cast<double>(ns - first_start) * 1e-9; };
  phase.elapsed_s = since_start(last_finish);
  phase.first_finish_s = since_start(first_finish);
  for (const auto& r : workers) {
    if (r->started_ns() == 0) continue;
    phase.bytes += r->bytes();
    phase.operations += r->operations();
    phase.errors += r->errors();
    phase.latency.merge(r->latency());
    for (unsigned p = 0; p < parts; ++p) phase.parts[p].merge(r->parts()[p]);
    phase.worker_finish_s.push_back(since_start(r->finished_ns()));
    phase.worker_bytes.push_back(r->bytes());
    series.merge(r->series());
  }
  return phase;
}

/// Nothing when none of `workers` did anything.
std::optional<BackgroundResult> merged_background(Recorders workers, unsigned parts, std::uint64_t released_ns) {
  if (workers.empty()) return std::nullopt;
  TimeSeries series;
  PhaseResult all = merged(workers, parts, released_ns, series);
  if (all.operations + all.errors == 0) return std::nullopt;
  Starts none;
  store_series(series, Window::whole, all, none);
  std::uint64_t start = UINT64_MAX;
  for (const auto& r : workers)
    if (r->operations() + r->errors() > 0) start = std::min(start, r->started_ns());
  const double begin_s = 1e-9 * static_cast<double>(start - released_ns);
  return BackgroundResult{.begin_s = begin_s,
                          .end_s = begin_s + all.elapsed_s,
                          .bytes = all.bytes,
                          .operations = all.operations,
                          .errors = all.errors,
                          .latency = all.latency,
                          .series = std::move(all.series)};
}

}  // namespace

PhaseResult phase_result(const PhaseEnd& end, unsigned background, unsigned parts, TimeSeries& series) {
  const Recorders all(end.recorders);
  const std::size_t readers = all.size() - std::min<std::size_t>(all.size(), background);
  PhaseResult phase = merged(all.first(readers), parts, end.released_ns, series);
  phase.background = merged_background(all.subspan(readers), parts, end.released_ns);
  return phase;
}

}  // namespace headrace::engine
