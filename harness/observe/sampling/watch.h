// Watches until the watched processes end, or the watching is stopped.
#pragma once

#include <functional>
#include <optional>

#include "harness/observe/command.h"
#include "harness/observe/sampling/sampler.h"

namespace headrace::observe {

struct WatchOptions {
  SamplerOptions sampler;
  std::optional<double> most_s;  // of a process that headrace did not start: for this time
  double report_every_s = 0;     // how often `reported` is called; 0: never
};

using OnRecording = std::function<void(const Recording&)>;

/// Until the command ends, which it then has.
Recording watch(Command& command, const WatchOptions& options, const OnRecording& reported);

struct WatchedProcess {
  Recording recording;
  int signal = 0;     // that ended the watching
  bool gone = false;  // the process has ended
};
/// Until the process ends, the time is over, or a signal comes. Throws UsageError where it may not be looked at.
WatchedProcess watch(int pid, const WatchOptions& options, const OnRecording& reported);

}  // namespace headrace::observe
