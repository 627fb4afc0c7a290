// A look at a few blocks of generated data: proves that this data was measured.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/workload/data/data_set.h"

namespace headrace {

/// Reads and checks a few blocks drawn by `seed` (untimed), for a tenth of a second at most.
/// Returns those that are wrong.
std::vector<WrongBlock> wrong_in_sample(const DataSet& data, std::uint64_t seed);

}  // namespace headrace
