// The keys of the job file, each from its observed values.
#pragma once

#include "harness/observe/learning/steps.h"
#include "harness/observe/observation.h"

namespace headrace::observe {

/// Fills learned, steps and samples_per_s of `seen`, whose roles, data, shares (standing_still among them) and storage are there.
void learn(const Recording& recording, const std::vector<const Slice*>& slices, Observation& seen);

}  // namespace headrace::observe
