// The abilities of the reader of Parquet over Apache Arrow, whether it is built or not.
#pragma once

#include "harness/backends/engines.h"

namespace headrace::parquet_files {

inline constexpr BackendTraits kTraits{.name = "parquet",
                                       .needs = "Apache Arrow C++ with Parquet 15 or later (-DHEADRACE_ARROW_ROOT=DIR)",
                                       .gives = Gives::tables,
                                       .late = true};

}  // namespace headrace::parquet_files
