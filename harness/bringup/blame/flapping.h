// Nodes that pass one session and fail the next: an intermittent fault is not repaired when it is gone.
#pragma once

#include <optional>
#include <string>

#include "harness/bringup/record.h"

namespace headrace::bringup {

/// One that passes now, but failed after it had passed before. It has passed less often in a row since than it failed,
/// plus one.
struct Flapping {
  unsigned left = 1;     // passes in a row that are still wanted
  std::string reported;  // the findings of each session
};
/// Nothing of a node that does not flap, or fails now. Its state before the record has passes is unknown.
std::optional<Flapping> flapping(const Record& record, unsigned node);

}  // namespace headrace::bringup
