// The samples of a data set of shards, part by part.
#pragma once

#include "harness/pack/image_folder.h"

namespace headrace::pack {

/// Lists what `from.shards` hold, shards of `from.format`, for packing as `to`. It reads headers alone, and of TFRecord
/// that becomes another format every byte. Throws RunError, which names a damaged shard and the offset. Throws UsageError
/// for what `to` cannot hold.
void list_samples(ImageFolder& from, formats::Format to, const DataProgress& progress);

}  // namespace headrace::pack
