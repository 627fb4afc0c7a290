// Where the files of a session go: a folder that it has alone, and that holds no other run.
#pragma once

#include <string>

#include "harness/base/files/marked_folder.h"

namespace headrace::session {

/// "headrace-runs/20260131-120000-NAME": below the current folder, by the time in UTC; of `name` what a file name can
/// hold.
std::string next_folder(const std::string& name);

/// The folder of a run, which has it alone: `out`, or if that is "" the next one for `name`. What a run that was cut
/// short while it wrote left in `out` is removed. Throws UsageError when a finished run is there, or what a killed one had
/// measured; RunError when it cannot be made.
MarkedFolder run_folder(const std::string& out, const std::string& name);

}  // namespace headrace::session
