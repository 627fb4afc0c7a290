// One process that the sampler looks at, and its clocks.
#pragma once

#include <time.h>

#include <optional>

#include "harness/observe/sampling/sampler.h"

namespace headrace::observe {

inline constexpr double kLeadsEvery = 0.002;      // [s]
inline constexpr std::size_t kMostCommand = 400;  // bytes of a command that are kept

/// The processor time of the looking thread [s].
inline double thread_cpu_s() {
  timespec t;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

inline std::uint64_t ns(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

struct Sampler::Watched {
  Watched(const std::string& proc, int pid) : files(proc, pid) {}

  ProcessFiles files;
  std::uint32_t index = 0;  // into recording_.processes
  int parent_pid = 0;
  bool leads = true;  // looked at often: may take batches, may save
  bool gone = false;
  bool has_children = false;
  ProcessSlice slice;
  ProcessCounters last;        // as counted, children that ended among them
  ProcessCounters last_quick;  // when it was last looked at between slices
  ProcessCounters ended;       // of children that ended in this slice
  bool child_ended = false;    // since the last quick look
  Wait lead_wait = Wait::other;
  std::uint64_t counted_ns = 0;         // until then its first thread's time is counted
  std::uint64_t stack = 0;              // of the program that it is
  std::optional<AddressRange> python;   // nothing: not asked yet
  bool faults = false;                  // a thread was found fetching pages
  std::uint64_t lead_bytes = 0;         // read by its first thread
  std::optional<std::uint64_t> ran_ns;  // processor time that it had when it last did, without a pause since
  std::uint32_t pause_looks = 0;        // at other threads while it paused
  std::uint64_t calls_at_pause = 0, calls_at_look = 0, lead_calls = 0;
  std::uint64_t calls_before = 0;     // by its first thread, when it began to have children
  bool lead_reads = false;            // since it has children
  bool taken_anew = false;            // it has read since its taken data was kept
  std::size_t hand_overs = SIZE_MAX;  // into recording_.hand_overs

  bool saving = false;
  SaveSeen save;
  std::uint64_t lead_written = 0, lead_written_before = 0;
  double last_written_s = 0, path_due_s = 0, last_quick_s = 0;
  std::uint32_t save_looks = 0, save_held = 0;
};

}  // namespace headrace::observe
