// The abilities of the engine over io_uring, whether it is built or not.
#pragma once

#include "harness/backends/engines.h"

namespace headrace::uring {

inline constexpr BackendTraits kTraits{
    .name = "io_uring",
    .needs = "liburing 2.3 or later",
    .storage = StorageTraits{.how = "each keeps queue_depth requests in flight",
                             .most_in_flight = 4096,
                             .direct = true,
                             .writes = true,
                             .polls = true},
    .streams = "the kernel goes on until a block is whole, and wakes the thread then"};

}  // namespace headrace::uring
