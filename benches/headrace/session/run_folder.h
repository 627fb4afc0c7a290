// Where the files of a session go: a folder that it has alone, and that holds no other run.
#pragma once

#include <string>

#include "harness/base/files/marked_folder.h"
#include "harness/engine/run_result.h"

namespace headrace::session {

// What a run has measured so far, kept in its folder as long as it goes on: SIGKILL, or a power cut, leaves it behind.

/// A run file like run.json, of a run that was killed. It goes when the whole run is written.
inline constexpr const char* kSoFar = "so-far.json";

class SoFar {
 public:
  explicit SoFar(const MarkedFolder& folder) : folder_(folder) {}

  /// Not before twenty times as long has gone by as the last writing took: it never takes more than 5 % of a run.
  bool is_due() const;
  /// A folder that does not take it ends no run: nothing is thrown.
  void write(const RunResult& known);

 private:
  const MarkedFolder& folder_;
  double last_s_ = 0, took_s_ = 0;  // of the steady clock
};

/// "headrace-runs/20260131-120000-NAME": below the current folder, by the time in UTC; of `name` what a file name can
/// hold.
std::string next_folder(const std::string& name);

/// The folder of a run, which has it alone: `out`, or if that is "" the next one for `name`. What a run that was cut
/// short while it wrote left in `out` is removed. Throws UsageError when a finished run is there, or what a killed one had
/// measured; RunError when it cannot be made.
MarkedFolder run_folder(const std::string& out, const std::string& name);

}  // namespace headrace::session
