// mpi_all_reduce - sums over all ranks, at each of them: gradients of replicas, without GPUs and
// NCCL.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;
using MpiAllReduce = network::MpiCollective<Collective::all_reduce>;
const Register<MpiAllReduce> registered{
    "mpi_all_reduce",
    "All-reduce over MPI in host memory: what gradients of replicas ask of the network"};
}  // namespace
