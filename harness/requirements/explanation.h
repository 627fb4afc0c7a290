// Which needs a job does not have, and which keys would give them.
#pragma once

#include <string>

#include "harness/requirements/needs.h"

namespace headrace::requirements {

/// A line per missing key: what it is, its unit, and the needs that wait for it. At most 100
/// columns.
std::string locked_text(const Job& job);

}  // namespace headrace::requirements
