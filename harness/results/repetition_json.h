// A repetition as run.json has it (docs/reference/run-json.md), both ways.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/record/repetition.h"
#include "harness/results/fields_json.h"

namespace headrace::results {

/// All that run.json says of it. `parts`: names of PhaseResult::parts.
nlohmann::ordered_json repetition_part(const Repetition& repetition, const PartNames& parts);

/// Reads it back. Names of parts that are met first are added to `parts`. A cache state that was `declared` and of which
/// the file says nothing was not proven. Throws UsageError.
Repetition read_repetition(const JsonPlace& place, CacheState declared, PartNames& parts);

}  // namespace headrace::results
