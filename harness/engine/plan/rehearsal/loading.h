// The loader of a rehearsal: its shuffle buffers, its local cache tier, its workers' decoding, and tuning's settings.
#pragma once

#include <vector>

#include "harness/engine/plan/from_job.h"
#include "harness/engine/plan/rehearsal/entry.h"
#include "harness/job/job.h"

namespace headrace::rehearsal {

struct Mixing {
  std::size_t layout = 0;  // 0 files, 1 shards, 2 indexed
  bool tables = false;     // the user's Parquet files are read as such
  double steps = 0;        // of a repetition
  double workers = 1, gpus = 1;
};

/// With the job's shuffle buffer, or one as much smaller as a worker reads less here than in an epoch.
Value mixing(const job::Job& job, Value entry, const Mixing& here, PlanNotes& reported);

// The local cache tier of a rehearsal.

/// Is the job's cache tier rehearsed? Where it is not, that is reported. `alone`: the point that reads as the job does.
bool fills_tier(const job::Job& job, const Means& means, const Value& alone, PlanNotes& reported);

/// Epochs through the job's tier. It holds the same share of them as the job's does of its data set (C1).
Value tier(const job::Job& job, const Means& means, const Value& alone);

// The further settings that a tuning rehearsal may try.

/// Workers of each GPU in addition to the job's `own`, rising. Each number up to 8, then about an eighth apart. Up to
/// four times its own, and to `most`.
std::vector<double> other_workers(double own, double most);

/// The powers of two below the job's own prefetch_factor, and twice and four times it.
std::vector<double> other_prefetch(const job::Job& job);

// The decoding of a rehearsal's workers.

/// Do the workers decode by headrace's own decoder? Not where the job gives its own decoder's time.
inline bool decodes(const job::Job& job) {
  return job.dataset.codec != job::SampleCodec::none && !job.dataset.cpu_time_per_sample;
}

/// Lets the generated files of the point that reads alone hold what the workers decode, where such samples are made.
/// One is in each file, or several in tar shards.
void hold_samples(const job::Job& job, const Means& means, Value& alone);

/// With the job's codec: the samples that are read, or drawn ones of their size in addition to generated files.
/// `layout`: 0 files, 1 shards, 2 indexed. Throws UsageError: such samples of one's own are not decoded.
Value decoded(const job::Job& job, const Means& means, Value entry, std::size_t layout, PlanNotes& reported);

/// The samples that `decoding` has, decoded by the GPUs of this node.
Value decoded_on_gpus(const Value& decoding);

}  // namespace headrace::rehearsal
