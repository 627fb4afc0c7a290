// Nodes that pass one session and fail the next: what comes and goes is not repaired by going.
#pragma once

#include <optional>
#include <string>

#include "harness/bringup/record.h"

namespace headrace::bringup {

/// One that passes now, failed after it had passed before, and has passed less often in a row since than it failed so, and
/// once more.
struct Flapping {
  unsigned left = 1;     // passes in a row that are still wanted
  std::string reported;  // what each session found
};
/// Nothing of a node that does not flap, or fails now. What it was before the record reports on passes is not known.
std::optional<Flapping> flapping(const Record& record, unsigned node);

}  // namespace headrace::bringup
