// The abilities of the engines that every build has.
#pragma once

#include "harness/backends/engines.h"
#include "harness/backends/posix/posix_engine.h"

namespace headrace::posix {

inline constexpr BackendTraits kTraits{
    .name = "posix",
    .storage = StorageTraits{.how = "each worker reads and waits", .direct = true, .writes = true},
    .streams = "send and recv",
    .make_storage = make_posix_engine,
    .make_streams = make_posix_streams};

inline constexpr BackendTraits kMappedTraits{
    .name = "mmap",
    .storage = StorageTraits{.how = "each copies out of mapped files", .maps = true},
    .make_storage = make_mmap_engine};

}  // namespace headrace::posix
