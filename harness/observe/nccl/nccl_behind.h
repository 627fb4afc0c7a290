// Which ranks others wait for, from what NCCL's services showed.
#pragma once

#include <string>
#include <vector>

#include "harness/observe/nccl/nccl_seen.h"
#include "harness/observe/observation.h"

namespace headrace::observe {

/// From what was seen in `elapsed_s`.
NcclSummary find_behind(const NcclSeen& seen, double elapsed_s);

/// Puts what was found into the limit, its proof and the notes of `seen`, whose own limit was found before. A rank of the job's own
/// processes that others wait for is limited by what limits this job: that stays, unless it is training itself, or not known.
void apply_nccl(Observation& seen);

}  // namespace headrace::observe
