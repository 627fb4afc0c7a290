// The abilities of the backend over libibverbs, whether it is built or not.
#pragma once

#include "harness/backends/engines.h"

namespace headrace::verbs {

inline constexpr BackendTraits kTraits{
    .name = "verbs", .needs = "libibverbs of rdma-core 34 or later", .gives = Gives::rdma};

}  // namespace headrace::verbs
