// mpi_all_to_all - each rank sends each other one a part: tokens to their experts.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;
using MpiAllToAll = network::MpiCollective<Collective::all_to_all>;
const Register<MpiAllToAll> registered{"mpi_all_to_all",
                                       "All-to-all over MPI in host memory: tokens to experts"};
}  // namespace
