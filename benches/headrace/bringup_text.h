// What a bring-up says to people.
#pragma once

#include <string>

#include "benches/headrace/terminal.h"
#include "benches/headrace/text.h"
#include "harness/bringup/bring_up.h"

namespace headrace::cli {

/// `again`: the command that goes on with it, but for --resume or --retest.
Text bringup_text(const bringup::Record& record, const std::string& folder, const std::string& again,
                  const Terminal& terminal);
/// What would be done, and how long it may take.
Text dry_run_text(const bringup::Record& record, const bringup::Start& start, const Terminal& terminal);

}  // namespace headrace::cli
