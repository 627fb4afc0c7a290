// The shuffle buffers of a rehearsal.
#pragma once

#include "harness/engine/plan/from_job.h"
#include "harness/engine/plan/rehearsal/entry.h"

namespace headrace::rehearsal {

struct Mixing {
  std::size_t layout = 0;  // 0 files, 1 shards, 2 indexed
  bool tables = false;     // one's own Parquet files are read for what they are
  double steps = 0;        // of a repetition
  double workers = 1, gpus = 1;
};

/// With the job's shuffle buffer, or one as much smaller as a worker reads less here than in an epoch.
Value mixing(const job::Job& job, Value entry, const Mixing& here, PlanNotes& reported);

}  // namespace headrace::rehearsal
