// Saves and restores of a job on one of its nodes.
#pragma once

#include <vector>

#include "harness/engine/plan/job_points/entry.h"
#include "harness/job/job.h"

namespace headrace::job_points {

/// The allowed time of saves and restores.
struct SaveMeans {
  double space = 0;       // that one checkpoint of all ranks here may take [B]
  double memory = 0;      // that an asynchronous save's copies may take [B]
  double save_s = 0;      // that one save may take, longer ones are made smaller [s]
  double rate = 150e6;    // saves are planned no larger; on slower storage, smaller [B/s]
  bool objects = false;   // they are put into an object store
  bool restores = false;  // are there restores, too?
};

/// Ranks that save on one node, a thread each.
double ranks_here(const job::Job& job);

/// The checkpoint of all ranks of the job [B] (E2).
double checkpoint_bytes(const job::Job& job);

/// As the job does it first, then a faster way of each. Shards that do not fit are made smaller, which is reported; none where not
/// even a page fits. The job has a checkpoint.
std::vector<Entry> checkpoints(const job::Job& job, const SaveMeans& means);

}  // namespace headrace::job_points
