// A repetition as run.json has it (docs/reference/run-json.md), both ways.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/record/pair_matrix.h"
#include "harness/record/repetition.h"
#include "harness/results/fields_json.h"
#include "harness/results/json_place.h"

namespace headrace::results {

/// Its whole part of run.json. `parts`: names of PhaseResult::parts.
nlohmann::ordered_json repetition_part(const Repetition& repetition, const PartNames& parts);

/// Reads it back. Names of parts that are met first are added to `parts`. A `declared` cache state without an entry in
/// the file was not proven. Throws UsageError.
Repetition read_repetition(const JsonPlace& place, CacheState declared, PartNames& parts);

// Rates between pairs of nodes, as every JSON file has them (docs/reference/run-json.md).

/// {"names": [...], "rate": [[-1, 1e9], ...], "rails": [...]}; with the blame, if given.
nlohmann::ordered_json pairs_part(const PairMatrix& matrix);
nlohmann::ordered_json pairs_part(const PairMatrix& matrix, const Blame& blame);

/// The matrix of such an object. The blame follows from it, and is not read. Throws UsageError.
PairMatrix read_pairs(const JsonPlace& place);

}  // namespace headrace::results
