// Where the files of a session go: a folder that it has alone, and that holds no other run.
#pragma once

#include <string>

#include "harness/base/files/marked_folder.h"
#include "harness/engine/run_result.h"

namespace headrace::session {

// The results of a run so far, kept in its folder until it ends. SIGKILL or a power cut leaves it behind.

/// A run file like run.json, of a run that was killed. It goes when the whole run is written.
inline constexpr const char* kSoFar = "so-far.json";

class SoFar {
 public:
  explicit SoFar(const MarkedFolder& folder) : folder_(folder) {}

  /// Waits twenty times as long as the last writing took, so that writing takes at most 5 % of a run.
  bool is_due() const;
  /// A folder that does not take it ends no run: nothing is thrown.
  void write(const RunResult& known);

 private:
  const MarkedFolder& folder_;
  double last_s_ = 0, took_s_ = 0;  // of the steady clock
};

/// The folder of run folders, below the current one.
inline constexpr const char* kRuns = "headrace-runs";

/// "headrace-runs/20260131-120000-NAME": below the current folder, by the time in UTC. With the characters of `name`
/// that a file name can have.
std::string next_folder(const std::string& name);

/// The folder of a run, locked for it: `out`, or if that is "" the next one for `name`. Files in `out` of a run that
/// was cut short while it wrote are removed. Throws UsageError when it has a finished run, or results of a killed one;
/// RunError when it cannot be made.
MarkedFolder run_folder(const std::string& out, const std::string& name);

}  // namespace headrace::session
