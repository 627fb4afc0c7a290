// The abilities of the engine over libcurl, whether it is built or not.
#pragma once

#include "harness/backends/engines.h"
#include "harness/base/object_path.h"

namespace headrace::s3 {

inline constexpr BackendTraits kTraits{
    .name = kObjectEngine,
    .needs = "libcurl 7.66, OpenSSL 3 and pugixml",
    .late = true,
    .storage = StorageTraits{.how = "objects by HTTP, each worker with queue_depth requests in flight",
                             .most_in_flight = 1024,
                             .writes = true,
                             .objects = true}};

}  // namespace headrace::s3
