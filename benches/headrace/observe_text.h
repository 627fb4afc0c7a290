// What an observation says to people.
#pragma once

#include <string>

#include "benches/headrace/terminal.h"
#include "benches/headrace/text.h"
#include "harness/observe/observation.h"

namespace headrace::cli {

/// `job`: the path of the job file that was written; "" = none.
Text observation_text(const observe::Recording& recording, const observe::Observation& seen, const std::string& job,
                      const Terminal& terminal);

}  // namespace headrace::cli
