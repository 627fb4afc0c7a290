// mpi_all_reduce - sums over all ranks, at each of them: gradients of replicas, without GPUs and
// NCCL.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;

class MpiAllReduce final : public network::MpiCollective {
 public:
  explicit MpiAllReduce(Params& p) : MpiCollective(p, Collective::all_reduce) {}
};

const Register<MpiAllReduce> registered_mpi_all_reduce{
    "mpi_all_reduce", "All-reduce over MPI in host memory: what gradients of replicas ask of the network"};
}  // namespace
