#include "harness/observe/ahead.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace headrace::observe {
namespace {

constexpr double kBlocked = 0.8;        // of a slice: then all batches that there is room for are ready
constexpr double kFromTheStart = 0.05;  // [s]: workers that are older had read before
constexpr double kNoticed_s = 0.1;      // [s]: workers are looked for so often, and batches are counted from then on
constexpr std::size_t kFewest = 4;
constexpr double kWhole = 0.25;

/// At the end of a slice.
struct Point {
  double at_s = 0;
  double taken = 0;    // batches, by all that take some; of those before workers were noticed, none
  double samples = 0;  // read since the beginning
};

/// Do the workers wait for others, all of them nearly all the time?
bool blocked(const Slice& slice, const Roles& roles) {
  double waiting = 0, all = 0;
  for (const ProcessSlice& one : slice.processes)
    if (roles.is_worker(one.process)) {
      waiting += one.lead[static_cast<std::size_t>(Wait::hand_over)];
      all += std::accumulate(one.lead.begin(), one.lead.end(), 0.0);
    }
  return all > 0 && waiting >= kBlocked * all;
}

double workers_read(const Slice& slice, const Roles& roles) {
  double bytes = 0;
  for (const ProcessSlice& one : slice.processes)
    if (roles.is_worker(one.process)) bytes += static_cast<double>(one.counted.read_calls_bytes);
  return bytes;
}

std::vector<Point> points_of(const Recording& recording, const Roles& roles, double calls, double sample_size) {
  std::vector<Point> points;
  double read = 0, taken = 0;
  for (std::size_t i = 0; i + 1 < recording.slices.size(); ++i) {
    const Slice& slice = recording.slices[i];
    const double more = workers_read(slice, roles);
    read += more;
    for (const ProcessSlice& one : slice.processes)
      if (roles.is_consumer(one.process)) taken += static_cast<double>(one.looked_calls);
    // At the end of an epoch there is nothing more to read.
    if (taken <= 0 || more <= 0 || workers_read(recording.slices[i + 1], roles) <= 0 || !blocked(slice, roles))
      continue;
    points.push_back({.at_s = slice.end_s, .taken = taken / calls, .samples = read / sample_size});
  }
  return points;
}

/// Samples for each batch by least squares, early points weighing more: sizes add up by chance.
struct Line {
  double slope = 0, error = 0;
};
Line line_of(const std::vector<Point>& points) {
  double w = 0, x = 0, y = 0;
  for (const Point& p : points) {
    const double weight = 1 / std::max(1.0, p.samples);
    w += weight;
    x += weight * p.taken;
    y += weight * p.samples;
  }
  double xx = 0, xy = 0, yy = 0;
  for (const Point& p : points) {
    const double weight = 1 / std::max(1.0, p.samples), dx = p.taken - x / w, dy = p.samples - y / w;
    xx += weight * dx * dx;
    xy += weight * dx * dy;
    yy += weight * dy * dy;
  }
  if (xx <= 0) return {};
  const double slope = xy / xx, rest = std::max(0.0, yy - slope * xy);
  return {.slope = slope, .error = std::sqrt(rest / static_cast<double>(points.size() - 2) / xx)};
}

}  // namespace

std::optional<Ahead> find_ahead(const Recording& recording, const Roles& roles, double calls, double sample_size,
                                double spread, std::string& why) {
  if (roles.workers.empty() || calls <= 0 || sample_size <= 0) {
    why = "what was read and what was taken of it could not both be counted";
    return std::nullopt;
  }
  for (const std::uint32_t worker : roles.workers)
    if (recording.processes[worker].first_s < kFromTheStart) {
      why = "workers were there before the watching began: how much they had read is not known";
      return std::nullopt;
    }
  if (roles.generations.size() > 1) {
    why = "workers were started anew: what lay ready then was not counted";
    return std::nullopt;
  }
  const std::vector<Point> points = points_of(recording, roles, calls, sample_size);
  const Line line = points.size() >= kFewest ? line_of(points) : Line{};
  if (line.slope < 0.5) {
    why = "workers were too seldom seen waiting for room: how far ahead they may work cannot be told";
    return std::nullopt;
  }
  Ahead ahead{.batch = line.slope,
              .batch_error = 2 * line.error,
              .each = std::nullopt,
              .parts = static_cast<unsigned>(points.size()),
              .workers = static_cast<unsigned>(roles.workers.size())};
  const double batch = std::max(1.0, std::round(line.slope));
  double sum = 0, weights = 0;
  for (const Point& p : points) {
    const double weight = 1 / std::max(1.0, p.samples);
    sum += weight * (p.samples / batch - p.taken);
    weights += weight;
  }
  const double each = sum / weights / ahead.workers;
  const double error =
      std::max(0.5, spread * std::sqrt(points.front().samples)) / batch;  // of the earliest, in batches
  double unnoticed = 0;  // batches that may have been taken before workers were noticed
  if (recording.machine_seen) {
    const double period = (points.back().at_s - points.front().at_s) / (points.back().taken - points.front().taken);
    unnoticed = static_cast<double>(roles.consumers.size()) + kNoticed_s / period;
  }
  ahead.each_low = std::max(0.0, each - (2 * error + unnoticed) / ahead.workers);
  ahead.each_high = each + 2 * error / ahead.workers;
  const double least = std::max(1.0, std::ceil(ahead.each_low));
  // No whole number of samples in a batch: they are of another size, or there are others.
  const bool whole = std::abs(line.slope - batch) + ahead.batch_error < kWhole;
  if (whole && points.size() >= kFewest + 2 && least <= ahead.each_high && least + 1 > ahead.each_high)
    ahead.each = least;
  return ahead;
}

}  // namespace headrace::observe
