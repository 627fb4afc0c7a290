// The abilities of the codec over libpng, whether it is built or not.
#pragma once

#include "harness/backends/engines.h"

namespace headrace::png {

inline constexpr BackendTraits kTraits{.name = "png", .needs = "libpng 1.6 or later", .gives = Gives::codecs};

}  // namespace headrace::png
