// The loader of a rehearsal: its shuffle buffers, its local cache tier, what its workers decode, and what tuning tries.
#pragma once

#include <vector>

#include "harness/engine/plan/from_job.h"
#include "harness/engine/plan/rehearsal/entry.h"
#include "harness/job/job.h"

namespace headrace::rehearsal {

struct Mixing {
  std::size_t layout = 0;  // 0 files, 1 shards, 2 indexed
  bool tables = false;     // one's own Parquet files are read for what they are
  double steps = 0;        // of a repetition
  double workers = 1, gpus = 1;
};

/// With the job's shuffle buffer, or one as much smaller as a worker reads less here than in an epoch.
Value mixing(const job::Job& job, Value entry, const Mixing& here, PlanNotes& reported);

// The local cache tier of a rehearsal.

/// Is the job's cache tier rehearsed? Where it is not, that is reported. `alone`: the point that reads as the job does.
bool fills_tier(const job::Job& job, const Means& means, const Value& alone, PlanNotes& reported);

/// Epochs through the job's tier, which holds as great a part of them as the job's does of its data set (C1).
Value tier(const job::Job& job, const Means& means, const Value& alone);

// What a rehearsal that tunes may try beside the job's own.

/// Workers of each GPU beside the job's `own`, rising: each number up to 8, then about an eighth apart; up to four times its
/// own, and to `most`.
std::vector<double> other_workers(double own, double most);

/// The powers of two below the job's own prefetch_factor, and twice and four times it.
std::vector<double> other_prefetch(const job::Job& job);

// What the workers of a rehearsal decode.

/// Do the workers decode by headrace's own decoder? Not where the job says what its own decoder takes.
inline bool decodes(const job::Job& job) {
  return job.dataset.codec != job::SampleCodec::none && !job.dataset.cpu_time_per_sample;
}

/// Lets the generated files of the point that reads alone hold what the workers decode, where such samples are made: one in
/// each file, or in tar shards of several.
void hold_samples(const job::Job& job, const Means& means, Value& alone);

/// With the job's codec: the samples that are read, or drawn ones of their size beside generated files. `layout`: 0 files,
/// 1 shards, 2 indexed. Throws UsageError: such samples of one's own are not decoded.
Value decoded(const job::Job& job, const Means& means, Value entry, std::size_t layout, PlanNotes& reported);

/// The samples that `decoding` has, decoded by the GPUs of this node.
Value decoded_on_gpus(const Value& decoding);

}  // namespace headrace::rehearsal
