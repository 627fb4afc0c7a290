#include "harness/engine/phase_result.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "harness/engine/series.h"

namespace headrace::engine {
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
