// What the workers of a rehearsal decode.
#pragma once

#include "harness/engine/plan/from_job.h"
#include "harness/engine/plan/rehearsal/entry.h"

namespace headrace::rehearsal {

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
