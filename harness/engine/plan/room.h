// Whether a plan can work at all where it is to run, asked before anything is measured.
#pragma once

#include <cstdint>
#include <string>

#include "harness/engine/plan/plan.h"

namespace headrace {

/// Everything that the points will write [B], data sets that several share counted once.
std::uint64_t bytes_to_write(const Plan& plan);

/// Throws UsageError with every reason why the plan cannot work. It would write more than target.max_write or the free
/// space (existing data is not counted), or a `path:` is missing. Or generated data or `run_folder` would lie in the
/// user's data; "" = there is none. Writes nothing. Throws RunError where a `path:` cannot be looked at.
void check_room(const Plan& plan, const std::string& run_folder = "");

}  // namespace headrace
