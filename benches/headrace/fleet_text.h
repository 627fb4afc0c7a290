// A judged fleet as people read it in a terminal.
#pragma once

#include "benches/headrace/answer.h"
#include "benches/headrace/terminal.h"
#include "harness/analysis/fleet/fleet.h"

namespace headrace::cli {

/// What all nodes came to, and the first that is unlike the rest.
Answer fleet_answer(const fleet::Fleet& fleet);

Text fleet_text(const fleet::Fleet& fleet, const Terminal& terminal);

/// "VERDICT FAIL expected=64 reported=62 judged=62 outliers=1 suspects=0 group_effects=1 exit=10".
Text fleet_last_line(const fleet::Fleet& fleet);

}  // namespace headrace::cli
