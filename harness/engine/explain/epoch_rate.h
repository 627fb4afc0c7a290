// What a repetition that reads a part of a data set says of an epoch, which reads all of it.
#pragma once

#include "harness/engine/explain/limit_proof.h"
#include "harness/record/repetition.h"

namespace headrace::engine {

/// `rate`: of all that the phase did, in any unit. The part that comes first reads folders, inodes and indexes beside its samples,
/// which then serve those that come later; or a throttle lets more through at first. So the rest of an epoch goes on as the
/// later half of the phase did. Bounds hold both. `data_bytes`: of the whole data set; where the phase read all of it, or has too
/// few operations to distinguish halves, it is `rate` alone.
Estimate epoch_rate(const PhaseResult& phase, double rate, double data_bytes);

}  // namespace headrace::engine
