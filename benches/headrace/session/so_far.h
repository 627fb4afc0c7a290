// What a run has measured so far, kept in its folder as long as it goes on: SIGKILL, or a power cut, leaves it behind.
#pragma once

#include "harness/base/files/marked_folder.h"
#include "harness/engine/run_result.h"

namespace headrace::session {

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

}  // namespace headrace::session
