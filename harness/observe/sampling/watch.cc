#include "harness/observe/sampling/watch.h"

#include <time.h>

#include <algorithm>

#include "harness/base/clock.h"
#include "harness/base/diagnostics.h"
#include "harness/machine/limits.h"

namespace headrace::observe {
namespace {

/// Five files of each process are kept open. Not before the command was started: it gets this process's own limit.
void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Until then, or a signal comes.
void sleep_until_due(std::uint64_t due_ns) {
  const timespec t{.tv_sec = static_cast<time_t>(due_ns / 1'000'000'000u),
                   .tv_nsec = static_cast<long>(due_ns % 1'000'000'000u)};
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

/// Looks until `over`.
template <class Over>
void look_until(Sampler& sampler, const WatchOptions& options, const OnRecording& reported, const Over& over) {
  const auto step = static_cast<std::uint64_t>(options.report_every_s * 1e9);
  std::uint64_t reported_due = now_ns() + step;
  while (!over()) {
    const std::uint64_t now = now_ns();
    const std::uint64_t due = sampler.look(now);
    if (step > 0 && now >= reported_due) {
      reported(sampler.recorded());
      reported_due = now + step;
    }
    sleep_until_due(due);
  }
}

}  // namespace

Recording watch(Command& command, const WatchOptions& options, const OnRecording& reported) {
  raise_open_files();
  Sampler sampler(options.sampler);
  sampler.watch(command.pid());  // may be over already
  look_until(sampler, options, reported, [&] { return command.ended(); });
  Recording recording = sampler.finish(now_ns());
  if (!sampler.refused().empty() && recording.processes.empty()) recording.refused.push_back(sampler.refused());
  return recording;
}

WatchedProcess watch(int pid, const WatchOptions& options, const OnRecording& reported) {
  raise_open_files();
  Sampler sampler(options.sampler);
  if (!sampler.watch(pid)) throw UsageError("observe: " + sampler.refused());
  const StopSignals stop;
  WatchedProcess watched;
  const std::uint64_t until =
      options.most_s ? now_ns() + static_cast<std::uint64_t>(*options.most_s * 1e9) : UINT64_MAX;
  look_until(sampler, options, reported, [&] {
    watched.signal = stop.came();
    watched.gone = sampler.all_gone();
    return watched.signal != 0 || watched.gone || now_ns() >= until;
  });
  watched.recording = sampler.finish(now_ns());
  return watched;
}

}  // namespace headrace::observe
