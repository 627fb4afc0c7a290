// The checkpoints of a rehearsal, and those of a benchmark.
#pragma once

#include "harness/engine/plan/from_job.h"
#include "harness/engine/plan/rehearsal/entry.h"
#include "harness/job/job.h"

namespace headrace::rehearsal {

/// Does the job save, and is that rehearsed?
bool saves(const job::Job& job, const Means& means);

/// With the job's checkpoints: as many bytes per second of computing. So each repetition of `steps` steps has a few.
Value saving(const job::Job& job, const Means& means, Value entry, double step_s, double steps, PlanNotes& reported);

// A benchmark's checkpoints, saved and read by its rules.

/// `job` saves one of the models of the benchmark that means.rules names. As many saves as the rules ask for, then as many
/// reads, of all ranks of this node. Throws UsageError where there is no room for them.
FromJob benchmark_saves(const job::Job& job, const Means& means);

}  // namespace headrace::rehearsal
