// The abilities of the codec over libzstd, whether it is built or not.
#pragma once

#include "harness/backends/engines.h"

namespace headrace::zstd {

inline constexpr BackendTraits kTraits{.name = "zstd", .needs = "libzstd 1.4 or later", .gives = Gives::codecs};

}  // namespace headrace::zstd
