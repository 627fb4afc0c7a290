// How large a checkpoint this storage saves within a given time.
#pragma once

#include "harness/workload/data/checkpoint/place.h"
#include "harness/workload/data/checkpoint_saver.h"

namespace headrace::checkpoint {

/// The shard [B] of which all ranks at once save one within `params.save_within_s`, at most `params.shard_size`; in whole
/// pages where it is less. By trials that grow, each written and made durable, until one takes a good part of that time
/// or is a whole shard. They are gone when it returns. Throws RunError.
std::uint64_t shard_within(const SaveParams& params, Place& place, const DataProgress& progress);

}  // namespace headrace::checkpoint
