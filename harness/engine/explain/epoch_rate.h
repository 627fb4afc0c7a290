// The rate of a whole epoch by a repetition that reads a part of a data set.
#pragma once

#include "harness/engine/explain/limit_proof.h"
#include "harness/record/repetition.h"

namespace headrace::engine {

/// `rate`: of all that the phase did, in any unit. The first part reads folders, inodes and indexes in addition to its
/// samples, which then serve later samples. Or a throttle lets more through at first. So the rest of an epoch has the
/// rate of the phase's later half. Bounds hold both. `data_bytes`: of the whole data set. Where the phase read all of
/// it, or has too few operations to distinguish halves, it is `rate` alone.
Estimate epoch_rate(const PhaseResult& phase, double rate, double data_bytes);

}  // namespace headrace::engine
