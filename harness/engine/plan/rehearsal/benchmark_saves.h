// A benchmark's checkpoints, saved and read by its rules.
#pragma once

#include "harness/engine/plan/from_job.h"
#include "harness/job/job.h"

namespace headrace::rehearsal {

/// `job` saves one of the models of the benchmark that means.rules names. As many saves as the rules ask for, then as many
/// reads, of all ranks of this node. Throws UsageError where there is no room for them.
FromJob benchmark_saves(const job::Job& job, const Means& means);

}  // namespace headrace::rehearsal
