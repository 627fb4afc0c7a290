// The checkpoints of a rehearsal.
#pragma once

#include "harness/engine/plan/from_job.h"
#include "harness/engine/plan/rehearsal/entry.h"

namespace headrace::rehearsal {

/// Does the job save, and is that rehearsed?
bool saves(const job::Job& job, const Means& means);

/// With the job's checkpoints, as many bytes per second of computing as the job has, so that each repetition of `steps`
/// steps has a few.
Value saving(const job::Job& job, const Means& means, Value entry, double step_s, double steps, PlanNotes& reported);

}  // namespace headrace::rehearsal
