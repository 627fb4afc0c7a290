// The abilities of the codec over libjpeg-turbo, whether it is built or not.
#pragma once

#include "harness/backends/engines.h"

namespace headrace::jpeg {

inline constexpr BackendTraits kTraits{.name = "jpeg", .needs = "libjpeg-turbo 1.5 or later", .gives = Gives::codecs};

}  // namespace headrace::jpeg
