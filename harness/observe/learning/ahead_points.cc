#include "harness/observe/learning/ahead_points.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace headrace::observe {
namespace {

constexpr double kOver = 1.0;     // [s]: who pauses no more so long before the last moment has taken the last
constexpr double kBlocked = 0.8;  // of a slice: then all batches that there is room for are ready

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

/// All moments of the generation at which all of its workers, and somebody who takes batches, were there. None where others read
/// samples meanwhile: what they read is among what was taken.
std::vector<AheadPoint> from_stills(const Recording& recording, const Roles& roles, const Generation& generation,
                                    double calls, double sample_size) {
  std::vector<AheadPoint> points;
  std::map<std::uint32_t, Extent> others;
  for (const Still& still : recording.stills) {
    if (still.at_s < generation.begin_s || still.at_s >= generation.end_s) continue;
    AheadPoint point{.at_s = still.at_s};
    std::size_t workers = 0, takers = 0;
    for (std::size_t i = 0; i < still.count; ++i) {
      const Still::Count& one = still.counts[i];
      const auto value = static_cast<double>(one.value);
      if (std::find(generation.workers.begin(), generation.workers.end(), one.process) != generation.workers.end()) {
        ++workers;
        point.samples += value / sample_size;
      } else if (roles.is_consumer(one.process)) {
        ++takers;
        point.taken += value / calls;
      } else {
        Extent& other = others[one.process];
        other.least = std::min(other.least, one.value);
        other.most = std::max(other.most, one.value);
      }
    }
    if (workers == generation.workers.size() && takers > 0) points.push_back(point);
  }
  for (const auto& [process, read] : others)
    if (static_cast<double>(read.most - read.least) > sample_size / 2) return {};
  return points;
}

}  // namespace

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
  if (last.empty() || at_s < all.back().at_s - kOver) return std::nullopt;
  AheadEnd end{.samples = all.back().samples};
  for (const auto& [process, count] : last) end.taken += static_cast<double>(count) / calls;
  return end;
}

}  // namespace headrace::observe
