#include "harness/observe/learning/ahead.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "harness/observe/learning/roles.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe {
namespace {

// The read and the taken bytes, at moments at which all workers of one generation waited for room.

struct AheadPoint {
  double at_s = 0;
  double taken = 0;    // batches, by all that take some, since the begin of the first generation
  double samples = 0;  // read by the generation
};

/// When the generation had read all: its bytes, and the bytes taken until the consumer last paused.
struct AheadEnd {
  double taken = 0, samples = 0;
};

constexpr double kOver = 1.0;     // [s]: a consumer without a pause this long before the end took the last
constexpr double kBlocked = 0.8;  // of a slice: then all batches that there is room for are ready

/// Do the workers wait for others, all of them nearly all the time?
bool blocked(const Slice& slice, const Roles& roles) {
  double waiting = 0, all = 0;
  for (const ProcessSlice& one : slice.processes)
    if (roles.is_worker(one.process)) {
      waiting += of(one.lead, Wait::hand_over);
      all += total(one.lead);
    }
  return ratio(waiting, all) >= kBlocked;
}

double workers_read(const Slice& slice, const Roles& roles) {
  double bytes = 0;
  for (const ProcessSlice& one : slice.processes)
    if (roles.is_worker(one.process)) bytes += static_cast<double>(one.counted.read_calls_bytes);
  return bytes;
}

std::vector<AheadPoint> from_slices(const Recording& recording, const Roles& roles, double until_s, double calls,
                                    double sample_size) {
  std::vector<AheadPoint> points;
  double read = 0, taken = 0;
  for (std::size_t i = 0; i + 1 < recording.slices.size(); ++i) {
    const Slice& slice = recording.slices[i];
    if (slice.end_s > until_s) break;
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

/// How much was read at least and at most [B].
struct Extent {
  std::uint64_t least = UINT64_MAX, most = 0;
};

/// All moments of the generation at which all of its workers were there. None where others
/// read samples in this time: their reads are among the taken bytes.
std::vector<AheadPoint> from_stills(const Recording& recording, const Roles& roles, const Generation& generation,
                                    double calls, double sample_size) {
  std::vector<AheadPoint> points;
  std::map<std::uint32_t, Extent> others;
  for (const Still& still : recording.stills) {
    if (still.at_s < generation.begin_s || still.at_s >= generation.end_s) continue;
    AheadPoint point{.at_s = still.at_s};
    std::size_t workers = 0;
    for (std::size_t i = 0; i < still.count; ++i) {
      const Still::Count& one = still.counts[i];
      const auto value = static_cast<double>(one.value);
      if (std::find(generation.workers.begin(), generation.workers.end(), one.process) != generation.workers.end()) {
        ++workers;
        point.samples += value / sample_size;
      } else if (roles.is_consumer(one.process)) {
        point.taken += value / calls;
      } else {
        Extent& other = others[one.process];
        other.least = std::min(other.least, one.value);
        other.most = std::max(other.most, one.value);
      }
    }
    if (workers == generation.workers.size()) points.push_back(point);
  }
  for (const auto& [process, read] : others)
    if (static_cast<double>(read.most - read.least) > sample_size / 2) return {};
  return points;
}

/// Those at which there was more to read, before and after. From moments that were kept. Else from slices of time, of
/// the first generation alone, in which the workers waited nearly all the time.
std::vector<AheadPoint> ahead_points(const Recording& recording, const Roles& roles, const Generation& generation,
                                     double calls, double sample_size) {
  if (recording.stills.empty())
    return generation.workers.front() == roles.generations.front().workers.front()
               ? from_slices(recording, roles, generation.end_s, calls, sample_size)
               : std::vector<AheadPoint>{};
  const std::vector<AheadPoint> all = from_stills(recording, roles, generation, calls, sample_size);
  std::vector<AheadPoint> points;
  for (std::size_t i = 1; i + 1 < all.size(); ++i)
    if (all[i].samples > all[i - 1].samples && all[i + 1].samples > all[i].samples && all[i].taken > 0)
      points.push_back(all[i]);
  return points;
}

/// The consumer's read bytes, in batches, at its first pause after the generation began. One batch was taken then, and
/// the rest was something else. Or, where pauses are short, more than one. Nothing: no pause was seen.
std::optional<double> taken_at_first_pause(const Recording& recording, const Roles& roles, const Generation& generation,
                                           double calls) {
  std::map<std::uint32_t, std::uint64_t> first;  // by who takes
  for (const TakenBy& one : recording.taken)
    if (one.at_s >= generation.begin_s && one.at_s < generation.end_s && roles.is_consumer(one.process))
      first.emplace(one.process, one.calls);
  if (first.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& [process, count] : first) sum += static_cast<double>(count) / calls;
  return sum / static_cast<double>(first.size());
}

std::optional<AheadEnd> ahead_end(const Recording& recording, const Roles& roles, const Generation& generation,
                                  double calls, double sample_size) {
  const std::vector<AheadPoint> all = from_stills(recording, roles, generation, calls, sample_size);
  if (all.empty()) return std::nullopt;
  std::map<std::uint32_t, std::uint64_t> last;  // by who takes
  double at_s = 0;
  for (const TakenBy& one : recording.taken)
    if (one.at_s >= generation.begin_s && one.at_s < generation.end_s && roles.is_consumer(one.process)) {
      last[one.process] = one.calls;
      at_s = one.at_s;
    }
  if (at_s < all.back().at_s - kOver) return std::nullopt;
  AheadEnd end{.samples = all.back().samples};
  for (const auto& [process, count] : last) end.taken += static_cast<double>(count) / calls;
  return end;
}

constexpr double kFromTheStart = 0.05;  // [s]: workers that are older had read before
constexpr std::size_t kFewestPoints = 4;
constexpr double kWhole = 0.25;
constexpr double kOtherReads = 1 << 20;  // [B]: libraries and the like that a worker may read before its first sample

/// Samples for each batch by least squares, early points weighing more: sizes add up by chance.
struct Line {
  double slope = 0, error = 0;
};
double weight_of(const AheadPoint& point) { return 1 / point.samples; }
Line line_of(const std::vector<AheadPoint>& points) {
  double w = 0, x = 0, y = 0;
  for (const AheadPoint& p : points) {
    const double weight = weight_of(p);
    w += weight;
    x += weight * p.taken;
    y += weight * p.samples;
  }
  double xx = 0, xy = 0, yy = 0;
  for (const AheadPoint& p : points) {
    const double weight = weight_of(p), dx = p.taken - x / w, dy = p.samples - y / w;
    xx += weight * dx * dx;
    xy += weight * dx * dy;
    yy += weight * dy * dy;
  }
  if (xx <= 0) return {};
  const double slope = xy / xx, rest = std::max(0.0, yy - slope * xy);
  return {.slope = slope, .error = std::sqrt(rest / static_cast<double>(points.size() - 2) / xx)};
}

struct Bounds {
  double low, high;
};

/// The number for each worker, in batches, from all that it read since it began.
Bounds from_the_begin(const std::vector<AheadPoint>& points, const Line& line, double spread, double unnoticed,
                      unsigned workers) {
  double sum = 0, weights = 0, taken = 0, squares = 0;
  for (const AheadPoint& p : points) {
    const double weight = weight_of(p);
    // By the slope and not by the batch: other reads (paths, answers) grow with the samples, too.
    const double ready = p.samples / line.slope - p.taken;
    sum += weight * ready;
    squares += weight * ready * ready;
    taken += weight * p.taken;
    weights += weight;
  }
  const double mean = sum / weights, deviation = std::sqrt(std::max(0.0, squares / weights - mean * mean));
  // The error of the earliest, in batches, and of the slope, as far as batches were taken. Or as they differ from each
  // other.
  const double error = std::max(std::max(0.5, spread * std::sqrt(points.front().samples)) / line.slope +
                                    line.error / line.slope * taken / weights,
                                deviation / 2);
  return {.low = (mean - 2 * error - unnoticed) / workers, .high = (mean + 2 * error) / workers};
}

/// At least that many, from the bytes taken after the last read of a generation. Nothing where that was not seen.
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
    // Counts of calls include other reads before the first batch.
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
    // The share of a worker's reads that was no sample cannot be reported.
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
