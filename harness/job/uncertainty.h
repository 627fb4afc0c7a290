// How uncertain needs are whose inputs were given with a spread.
#pragma once

#include <vector>

#include "harness/job/needs.h"

namespace headrace::job {

/// Fills in `uncertainty` and raises `need` by it. First-order propagation of independent spreads;
/// for the read bandwidth this is G10.
void add_uncertainty(const Job& job, std::vector<Need>& needs);

}  // namespace headrace::job
