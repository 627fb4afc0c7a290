// Rates between pairs of nodes, as every JSON file has them (docs/reference/run-json.md).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/record/pair_matrix.h"
#include "harness/results/json_place.h"

namespace headrace::results {

/// {"names": [...], "rate": [[-1, 1e9], ...], "rails": [...]}; with who is to blame, if given.
nlohmann::ordered_json pairs_part(const PairMatrix& matrix);
nlohmann::ordered_json pairs_part(const PairMatrix& matrix, const Blame& blame);

/// The matrix of such an object. Who is to blame follows from it, and is not read. Throws
/// UsageError.
PairMatrix read_pairs(const JsonPlace& place);

}  // namespace headrace::results
