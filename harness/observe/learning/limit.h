// What limits a job that was watched, what says so, and what would help.
#pragma once

#include "harness/observe/observation.h"

namespace headrace::observe {

/// From shares, storage and saves of `seen`. `slices`: while batches were taken.
Limit find_limit(const Recording& recording, const std::vector<const Slice*>& slices, const Observation& seen);

/// Which of bytes and requests the storage is out of: the one that its time goes with, or by the size of a request where that
/// cannot be reported.
enum class Scarce { bytes, requests };
Scarce scarce_of(const std::vector<const Slice*>& slices, const StorageSeen& storage, std::string& why);

}  // namespace headrace::observe
