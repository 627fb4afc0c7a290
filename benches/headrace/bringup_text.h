// A bring-up's text for people.
#pragma once

#include <string>
#include <string_view>

#include "benches/headrace/terminal.h"
#include "benches/headrace/text.h"
#include "harness/bringup/bring_up.h"

namespace headrace::cli {

/// A node's state in an operator's word: "bad" of "confirmed".
std::string_view word_of(std::string_view state);
/// `page`: where it is, or why there is none; "": none was wanted.
Text bringup_text(const bringup::Record& record, const std::string& folder, const std::string& page,
                  const Terminal& terminal);
/// The planned steps, and how long they may take. `no_mpi`: why this host starts no run on several hosts; "" = it can.
Text dry_run_text(const bringup::Record& record, const bringup::Start& start, const std::string& no_mpi,
                  const Terminal& terminal);

}  // namespace headrace::cli
