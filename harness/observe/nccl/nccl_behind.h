// Which ranks others wait for, by NCCL's services.
#pragma once

#include <string>
#include <vector>

#include "harness/observe/nccl/nccl_seen.h"
#include "harness/observe/observation.h"

namespace headrace::observe {

/// From the answers of `elapsed_s`.
NcclSummary find_behind(const NcclSeen& seen, double elapsed_s);

/// Adds the finding to the limit, its proof and the notes of `seen`, whose own limit was found before. A rank of this
/// job that others wait for keeps this job's limit, unless that is training, or unknown.
void apply_nccl(Observation& seen);

}  // namespace headrace::observe
