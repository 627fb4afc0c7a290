// The abilities of the codec over zlib, whether it is built or not.
#pragma once

#include "harness/backends/engines.h"

namespace headrace::npz {

inline constexpr BackendTraits kTraits{.name = "npz", .needs = "zlib 1.2.9 or later", .gives = Gives::codecs};

}  // namespace headrace::npz
