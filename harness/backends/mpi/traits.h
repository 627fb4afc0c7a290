// The abilities of the backend over MPI, whether it is built or not.
#pragma once

#include "harness/backends/engines.h"

namespace headrace::mpi {

inline constexpr BackendTraits kTraits{
    .name = "mpi", .needs = "MPI 3.1 or later, such as Open MPI", .gives = Gives::messages, .late = true};

}  // namespace headrace::mpi
