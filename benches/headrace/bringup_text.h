// What a bring-up says to people.
#pragma once

#include <string>

#include "benches/headrace/terminal.h"
#include "benches/headrace/text.h"
#include "harness/bringup/bring_up.h"

namespace headrace::cli {

/// `page`: where it is, or why there is none; "": none was wanted.
Text bringup_text(const bringup::Record& record, const std::string& folder, const std::string& page,
                  const Terminal& terminal);
/// What would be done, and how long it may take. `no_mpi`: why this host can start no run on several hosts; "" = it can.
Text dry_run_text(const bringup::Record& record, const bringup::Start& start, const std::string& no_mpi,
                  const Terminal& terminal);

}  // namespace headrace::cli
