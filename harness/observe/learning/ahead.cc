#include "harness/observe/learning/ahead.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/observe/learning/ahead_points.h"

namespace headrace::observe {
namespace {

constexpr double kFromTheStart = 0.05;  // [s]: workers that are older had read before
constexpr std::size_t kFewestPoints = 4;
constexpr double kWhole = 0.25;
constexpr double kOtherReads = 1 << 20;  // [B]: libraries and the like that a worker may read before its first sample

/// Samples for each batch by least squares, early points weighing more: sizes add up by chance.
struct Line {
  double slope = 0, error = 0;
};
Line line_of(const std::vector<AheadPoint>& points) {
  double w = 0, x = 0, y = 0;
  for (const AheadPoint& p : points) {
    const double weight = 1 / std::max(1.0, p.samples);
    w += weight;
    x += weight * p.taken;
    y += weight * p.samples;
  }
  double xx = 0, xy = 0, yy = 0;
  for (const AheadPoint& p : points) {
    const double weight = 1 / std::max(1.0, p.samples), dx = p.taken - x / w, dy = p.samples - y / w;
    xx += weight * dx * dx;
    xy += weight * dx * dy;
    yy += weight * dy * dy;
  }
  if (xx <= 0) return {};
  const double slope = xy / xx, rest = std::max(0.0, yy - slope * xy);
  return {.slope = slope, .error = std::sqrt(rest / static_cast<double>(points.size() - 2) / xx)};
}

struct Bounds {
  double low = 0, high = 0;
};

/// Of each worker, in batches, from all that it read since it began.
Bounds from_the_begin(const std::vector<AheadPoint>& points, const Line& line, double spread, double unnoticed,
                      unsigned workers) {
  double sum = 0, weights = 0, taken = 0, squares = 0;
  for (const AheadPoint& p : points) {
    const double weight = 1 / std::max(1.0, p.samples);
    // By the slope and not by the batch: what else is read (paths, answers) grows with the samples, too.
    const double ready = p.samples / line.slope - p.taken;
    sum += weight * ready;
    squares += weight * ready * ready;
    taken += weight * p.taken;
    weights += weight;
  }
  const double mean = sum / weights, deviation = std::sqrt(std::max(0.0, squares / weights - mean * mean));
  // Of the earliest, in batches, and of the slope, as far as batches were taken; or as they differ from each other.
  const double error = std::max(std::max(0.5, spread * std::sqrt(points.front().samples)) / line.slope +
                                    line.error / line.slope * taken / weights,
                                deviation / 2);
  return {.low = (mean - 2 * error - unnoticed) / workers, .high = (mean + 2 * error) / workers};
}

/// At least so many, from what was taken after the last read of a generation; nothing where that was not seen.
std::optional<double> least_at_the_end(const std::vector<AheadPoint>& points, const AheadEnd& end, const Line& line,
                                       double spread, unsigned workers) {
  constexpr std::size_t kLast = 5;
  if (points.empty() || end.taken <= points.back().taken) return std::nullopt;
  double sum = 0, left = 0;
  std::size_t count = 0;
  for (auto p = points.rbegin(); p != points.rend() && count < kLast; ++p, ++count) {
    const double samples = end.samples - p->samples;
    sum += end.taken - p->taken - samples / line.slope;
    left = std::max(left, samples);
  }
  const double error =
      std::max(0.5, spread * std::sqrt(left)) / line.slope + line.error / line.slope * left / line.slope;
  return (sum / static_cast<double>(count) - 2 * error) / workers;
}

/// How long the oldest of a generation had run when the first was noticed [s].
double unnoticed_s(const Recording& recording, const Generation& generation) {
  double oldest = 0;
  for (const std::uint32_t worker : generation.workers) {
    const ProcessSeen& seen = recording.processes[worker];
    oldest = std::max(oldest, generation.begin_s - (seen.first_s - seen.age_s));
  }
  return oldest;
}

/// Are they another program than those that they read for: then they read that, too, before their first sample.
bool another_program(const Recording& recording, const Roles& roles, const Generation& generation) {
  for (const std::uint32_t worker : generation.workers)
    for (const std::uint32_t consumer : roles.consumers)
      if (recording.processes[worker].command == recording.processes[consumer].command) return false;
  return true;
}

}  // namespace

std::optional<Ahead> find_ahead(const Recording& recording, const Roles& roles, double calls, double sample_size,
                                double spread, std::string& why) {
  if (roles.generations.empty() || calls <= 0 || sample_size <= 0) {
    why = "reads and taken batches could not both be counted";
    return std::nullopt;
  }
  const std::vector<Generation>& generations = roles.generations;
  const Generation& first = generations.front();
  if (first.begin_s < kFromTheStart) {
    why = "workers were there before the watching began: how much they had read is not known";
    return std::nullopt;
  }
  const auto workers = static_cast<unsigned>(first.workers.size());
  const std::vector<AheadPoint> points = ahead_points(recording, roles, first, calls, sample_size);
  const Line line = points.size() >= kFewestPoints ? line_of(points) : Line{};
  if (line.slope < 0.5) {
    why = "workers rarely waited for room, so their prefetch depth is unknown, and matters little";
    return std::nullopt;
  }
  Ahead ahead{.batch = line.slope,
              .batch_error = 2 * line.error,
              .each = std::nullopt,
              .moments = static_cast<unsigned>(points.size()),
              .workers = workers};
  const double period = (points.back().at_s - points.front().at_s) / (points.back().taken - points.front().taken);
  // Batches that may have been taken before workers were noticed.
  const double unnoticed = recording.machine_seen ? unnoticed_s(recording, first) / period : 0;
  Bounds both = from_the_begin(points, line, spread, unnoticed, workers);
  if (recording.machine_seen) {
    // Counts of calls have in them what else was read before the first batch.
    const std::optional<double> first_pause = taken_at_first_pause(recording, roles, first, calls);
    if (!first_pause || recording.stills.empty()) {
      why = recording.stills.empty()
                ? "too many processes to sample at one moment: the number of ready batches is unknown"
                : "the process that takes batches never paused, so its first batch is unknown";
      ahead.each_high = std::numeric_limits<double>::infinity();
      return ahead;
    }
    both.high += std::max(0.0, *first_pause - 1) * static_cast<double>(roles.consumers.size()) / workers;
  }
  std::optional<double> least_ready;  // less, where a loader is left in the midst of it
  for (const Generation& one : generations) {
    const auto end = ahead_end(recording, roles, one, calls, sample_size);
    if (!end) continue;
    const auto found = least_at_the_end(ahead_points(recording, roles, one, calls, sample_size), *end, line, spread,
                                        static_cast<unsigned>(one.workers.size()));
    if (found) least_ready = std::max(least_ready.value_or(*found), *found);
  }
  bool sure = true;
  if (least_ready) {
    ahead.to_the_end = true;
    sure = *least_ready <= both.high;
    both = {.low = std::min(*least_ready, both.high), .high = std::max(*least_ready, both.high)};
  } else if (recording.machine_seen && !recording.reads_exact) {
    // Of all that a worker read, what was no sample cannot be reported.
    both.low = another_program(recording, roles, first) ? 0 : both.low - kOtherReads / sample_size / line.slope;
  }
  ahead.each_low = std::max(0.0, both.low);
  ahead.each_high = std::max(0.0, both.high);
  const double batch = std::max(1.0, std::round(line.slope)), least = std::max(1.0, std::ceil(ahead.each_low));
  // No whole number of samples in a batch: they are of another size, or there are others.
  const bool whole = std::abs(line.slope - batch) + ahead.batch_error < kWhole;
  if (sure && whole && points.size() >= kFewestPoints + 2 && least <= ahead.each_high && least + 1 > ahead.each_high)
    ahead.each = least;
  return ahead;
}

}  // namespace headrace::observe
