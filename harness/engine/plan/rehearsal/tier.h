// The local cache tier of a rehearsal.
#pragma once

#include "harness/engine/plan/from_job.h"
#include "harness/engine/plan/rehearsal/entry.h"

namespace headrace::rehearsal {

/// Is the job's cache tier rehearsed? Where it is not, that is reported. `alone`: the point that reads as the job does.
bool fills_tier(const job::Job& job, const Means& means, const Value& alone, PlanNotes& reported);

/// Epochs through the job's tier, which holds as great a part of them as the job's does of its data set (C1).
Value tier(const job::Job& job, const Means& means, const Value& alone);

}  // namespace headrace::rehearsal
