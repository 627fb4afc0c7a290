// The limit of a watched job, its proof, and possible remedies.
#pragma once

#include "harness/observe/observation.h"

namespace headrace::observe {

/// From shares, storage and saves of `seen`. `slices`: while batches were taken.
Limit find_limit(const Recording& recording, const std::vector<const Slice*>& slices, const Observation& seen);

/// Which of bytes and requests limits the storage: the one that its time depends on. Where that is unknown, the size of
/// a request decides.
enum class Scarce { bytes, requests };
Scarce scarce_of(const std::vector<const Slice*>& slices, const StorageSeen& storage, std::string& why);

}  // namespace headrace::observe
