#include "harness/observe/learning/roles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/observe/data_survey.h"
#include "harness/observe/learning/shares.h"

namespace headrace::observe {
namespace {

constexpr double kIdle = 0.02;  // a process that is busy less often than that only waits for others
constexpr unsigned kFewHandOvers = 5;
constexpr double kReaders = 0.02;  // of all reads: less is no worker
constexpr double kTogether = 1.0;  // workers that start, or are there, together within this time are one generation [s]
constexpr std::uint64_t kPage = 4096;
constexpr double kSomeJob = 0.1;       // of the bytes that are read for the main consumer: less is a launcher
constexpr std::size_t kAlikeBins = 2;  // up to four times as long
constexpr double kFewStretches = 8, kFewSteps = 4;
constexpr double kApart = 3;         // times as many longer ones as in between
constexpr double kSomePause = 0.02;  // of the time
constexpr double kOfEach = 1.5;      // stretches between reads for each step: fewer may be the steps

/// By process: how often something was handed to it.
std::vector<std::uint64_t> hand_overs(const Recording& recording) {
  std::vector<std::uint64_t> sums(recording.processes.size());
  for (const HandOvers& one : recording.hand_overs)
    for (const auto& [jump, times] : one.jumps) sums[one.process] += times;
  return sums;
}

/// Waits for others all the time, and no process hands it anything: a shell, a launcher.
bool idle(const ProcessSlice& sum, std::uint64_t taken) {
  const std::uint64_t all = total(sum.lead);
  const std::uint64_t busy =
      all - of(sum.lead, Wait::hand_over) - of(sum.lead, Wait::sleep) - of(sum.lead, Wait::other);
  return taken < kFewHandOvers && static_cast<double>(busy) < kIdle * static_cast<double>(all);
}

/// By process: the nearest one above it that is not idle; -1: there is none. Logs may claim of two processes that each
/// started the other.
std::vector<int> busy_above(const Recording& recording, const std::vector<bool>& is_idle) {
  constexpr int kUnknown = -2;
  std::vector<int> above(recording.processes.size(), kUnknown);
  std::vector<std::size_t> way;
  for (std::size_t i = 0; i < above.size(); ++i) {
    way.clear();
    int found = kUnknown;
    for (std::size_t at = i; found == kUnknown;) {
      if (above[at] != kUnknown) {
        found = above[at];
        break;
      }
      way.push_back(at);
      above[at] = -1;  // for a way that comes back here
      const int parent = recording.processes[at].parent;
      if (parent < 0 || !is_idle[static_cast<std::size_t>(parent)]) found = parent;
      at = static_cast<std::size_t>(std::max(0, parent));
    }
    for (const std::size_t at : way) above[at] = found;
  }
  return above;
}

std::uint64_t data_bytes(const ProcessSlice& sum) {
  return sum.counted.read_calls_bytes + sum.counted.major_faults * kPage;
}

/// When the first file of data was found read; 0: none was.
double first_data_s(const Recording& recording) {
  double first_s = 0;
  for (const FileSeen& file : recording.files)
    if (file.first_s > 0 && file.read + file.open > 0 && (first_s == 0 || file.first_s < first_s) &&
        !is_program_file(file.path))
      first_s = file.first_s;
  return first_s;
}

/// When batches were taken.
void find_times(const Recording& recording, Roles& roles) {
  // The process that starts workers may read, too, before they hand anything over.
  unsigned all = 0;
  for (const Slice& slice : recording.slices)
    for (const ProcessSlice& one : slice.processes) all += roles.is_consumer(one.process) ? one.takes : 0;
  const bool pauses = all >= kFewHandOvers;
  const double data_s = roles.in_process ? first_data_s(recording) : 0;
  bool begun = false;
  for (const Slice& slice : recording.slices) {
    if (slice.end_s < data_s) continue;
    unsigned living = 0;
    bool takes = false;
    for (const ProcessSlice& one : slice.processes) {
      if (roles.is_worker(one.process) && total(one.lead) > 0) ++living;
      if (!recording.waits_known) takes = takes || (roles.is_worker(one.process) && one.counted.read_calls > 0);
      if (roles.is_consumer(one.process))
        takes = takes || (roles.in_process ? one.counted.read_calls > 0 || one.pauses > 0
                          : pauses         ? one.takes > 0
                                           : one.looked_calls > 0);
    }
    if (!takes || (!roles.in_process && living == 0)) continue;
    // Until the first slice is over the pipeline fills.
    if (!begun) roles.begin_s = slice.end_s;
    begun = true;
    roles.end_s = slice.end_s;
  }
}

/// How many of them lived at a time, on average while batches were taken; 0: none were.
double at_once(const Recording& recording, const Roles& roles, const std::vector<std::uint32_t>& processes) {
  double covered = 0, lived = 0;
  for (const Slice* slice : slices_within(recording, roles.begin_s, roles.end_s)) {
    covered += slice->seconds();
    for (const std::uint32_t process : processes) {
      const ProcessSeen& seen = recording.processes[process];
      lived += std::max(0.0, std::min(slice->end_s, seen.last_s) - std::max(slice->begin_s, seen.first_s));
    }
  }
  return ratio(lived, covered);
}

/// Processes that read little, and not in the second half of their lives: a loader's helpers.
void drop_idle_workers(const Recording& recording, const std::vector<ProcessSlice>& sums, Roles& roles) {
  std::vector<double> read(recording.processes.size()), seconds(recording.processes.size());
  for (const Slice& slice : recording.slices)
    for (const ProcessSlice& one : slice.processes) {
      const ProcessSeen& seen = recording.processes[one.process];
      if (slice.end_s < (seen.first_s + seen.last_s) / 2) continue;
      read[one.process] += static_cast<double>(data_bytes(one));
      seconds[one.process] += slice.seconds();
    }
  const auto rate = [&](std::uint32_t w) { return ratio(read[w], seconds[w]); };
  double all = 0;
  std::uint64_t most = 0;
  for (const std::uint32_t w : roles.workers) {
    all += rate(w);
    most = std::max(most, data_bytes(sums[w]));
  }
  const double each = all / static_cast<double>(roles.workers.size());
  std::erase_if(roles.workers,
                [&](std::uint32_t w) { return rate(w) < kReaders * each && data_bytes(sums[w]) * 2 < most; });
}

/// Processes with few reads compared with another, and its reader: a launcher, as a script that reads scripts.
void drop_launchers(const std::vector<ProcessSlice>& sums, const std::vector<int>& above, Roles& roles) {
  std::vector<std::uint64_t> read_for(sums.size(), 0);
  for (const std::uint32_t worker : roles.workers)
    read_for[static_cast<std::size_t>(above[worker])] += data_bytes(sums[worker]);
  const std::uint64_t most = *std::max_element(read_for.begin(), read_for.end());
  const auto little = [&](std::uint32_t consumer) {
    return static_cast<double>(read_for[consumer]) < kSomeJob * static_cast<double>(most);
  };
  std::erase_if(roles.workers, [&](std::uint32_t worker) { return little(static_cast<std::uint32_t>(above[worker])); });
  std::erase_if(roles.consumers, little);
}

/// Where a main thread reads many samples for each step, pauses end the stretches, or they are short.
std::size_t making_bins(const Recording& recording, const Roles& roles) {
  std::array<double, kStretches> count{};
  double pauses = 0, paused = 0, looks = 0, all = 0;
  for (const Slice* slice : slices_within(recording, roles.begin_s, roles.end_s))
    for (const ProcessSlice& one : slice->processes) {
      if (!roles.is_consumer(one.process)) continue;
      pauses += one.pauses;
      paused += of(one.lead, Wait::sleep) + of(one.lead, Wait::gpu);
      looks += total(one.lead);
      for (std::size_t i = 0; i < kStretches; ++i)
        count[i] += one.stretches[i] / (i == 0 ? 1 : 1.5 * std::exp2(static_cast<double>(i)));
    }
  for (const double one : count) all += one;
  const auto between = [&](std::size_t from, std::size_t to) {
    return std::accumulate(count.begin() + static_cast<std::ptrdiff_t>(from),
                           count.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
  };
  std::size_t median = 0;
  while (between(0, median + 1) * 2 < all) ++median;
  const std::size_t bins = std::min(median + kAlikeBins + 1, kStretches);
  const double shorter = between(0, bins), longer = between(bins, count.size());
  // Few that are in between: those are no late ones of one kind.
  const bool two_kinds =
      longer >= kFewSteps && longer >= kApart * between(median + 2, bins) && shorter >= kOfEach * longer;
  const bool by_pauses = pauses >= kFewSteps && paused >= kSomePause * looks && shorter >= kOfEach * pauses;
  return shorter >= kFewStretches && (two_kinds || by_pauses) ? bins : 0;
}

/// Processes that had ended before batches were taken: a launcher's, as pyenv's, which hand each other words.
void drop_early_ones(const Recording& recording, Roles& roles) {
  const auto early = [&](std::uint32_t process) { return recording.processes[process].last_s < roles.begin_s; };
  if (roles.end_s <= roles.begin_s || std::all_of(roles.consumers.begin(), roles.consumers.end(), early)) return;
  std::erase_if(roles.consumers, early);
  std::erase_if(roles.workers, early);
}

}  // namespace

bool Roles::is_worker(std::uint32_t process) const {
  return std::binary_search(workers.begin(), workers.end(), process);
}
bool Roles::is_thread(std::uint32_t thread) const { return std::binary_search(threads.begin(), threads.end(), thread); }
bool Roles::is_consumer(std::uint32_t process) const {
  return std::binary_search(consumers.begin(), consumers.end(), process);
}

std::vector<Generation> generations_of(const Recording& recording, const std::vector<std::uint32_t>& workers) {
  const auto started_s = [&](std::uint32_t one) {
    return recording.processes[one].first_s - recording.processes[one].age_s;
  };
  std::vector<std::uint32_t> sorted = workers;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return started_s(a) < started_s(b); });
  std::vector<Generation> all;
  // The start of the one before; when its generation was last noticed, and last seen.
  double before_s{}, noticed_s{}, ended_s{};
  for (const std::uint32_t worker : sorted) {
    const ProcessSeen& seen = recording.processes[worker];
    if (all.empty() || (started_s(worker) - before_s > kTogether && seen.first_s - noticed_s > kTogether &&
                        seen.first_s + kTogether > ended_s)) {
      all.push_back({.workers = {}, .begin_s = seen.first_s, .end_s = std::numeric_limits<double>::infinity()});
      noticed_s = seen.first_s;
      ended_s = seen.last_s;
    }
    Generation& last = all.back();
    last.workers.push_back(worker);
    last.begin_s = std::min(last.begin_s, seen.first_s);
    before_s = started_s(worker);
    noticed_s = std::max(noticed_s, seen.first_s);
    ended_s = std::max(ended_s, seen.last_s);
  }
  for (std::size_t i = 1; i < all.size(); ++i) all[i - 1].end_s = all[i].begin_s;
  return all;
}

Roles find_roles(const Recording& recording) {
  Roles roles;
  const std::size_t n = recording.processes.size();
  std::vector<ProcessSlice> sums(n);
  for (const Slice& slice : recording.slices)
    for (const ProcessSlice& one : slice.processes) add_process(sums[one.process], one);
  std::vector<bool> has_children(n, false);
  for (const ProcessSeen& one : recording.processes)
    if (one.parent >= 0) has_children[static_cast<std::size_t>(one.parent)] = true;
  std::uint64_t all_read = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (!has_children[i]) all_read += data_bytes(sums[i]);

  const std::vector<std::uint64_t> taken = hand_overs(recording);
  std::vector<bool> is_idle(n), consumes(n, false);
  for (std::size_t i = 0; i < n; ++i) is_idle[i] = idle(sums[i], taken[i]);
  const std::vector<int> above = busy_above(recording, is_idle);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (has_children[i] || data_bytes(sums[i]) == 0) continue;
    // With many workers each reads little.
    if (static_cast<double>(data_bytes(sums[i])) < kReaders * static_cast<double>(all_read) / static_cast<double>(n))
      continue;
    if (above[i] < 0) continue;  // it works for itself
    roles.workers.push_back(i);
    consumes[static_cast<std::size_t>(above[i])] = true;
  }
  for (std::uint32_t i = 0; i < n; ++i)
    if (consumes[i]) roles.consumers.push_back(i);
  roles.in_process = roles.workers.empty();
  if (roles.in_process) {
    std::uint64_t most = 0;
    for (const ProcessSlice& sum : sums) most = std::max(most, data_bytes(sum));
    for (std::uint32_t i = 0; i < n; ++i)
      if (data_bytes(sums[i]) * 2 > most) roles.consumers.push_back(i);
  } else {
    drop_launchers(sums, above, roles);
    drop_idle_workers(recording, sums, roles);
  }
  find_times(recording, roles);
  drop_early_ones(recording, roles);
  for (std::uint32_t i = 0; i < recording.threads.size(); ++i)
    if (roles.is_consumer(recording.threads[i].process)) roles.threads.push_back(i);
  if (roles.in_process) roles.making = making_bins(recording, roles);
  roles.workers_at_once = at_once(recording, roles, roles.workers);
  roles.consumers_at_once = std::max(roles.consumers.empty() ? 0.0 : 1.0, at_once(recording, roles, roles.consumers));
  roles.generations = generations_of(recording, roles.workers);
  return roles;
}

}  // namespace headrace::observe
