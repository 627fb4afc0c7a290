// mpi_reduce_scatter - sums over all ranks, a part at each: sharded gradients.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;

class MpiReduceScatter final : public network::MpiCollective {
 public:
  explicit MpiReduceScatter(Params& p) : MpiCollective(p, Collective::reduce_scatter) {}
};

const Register<MpiReduceScatter> registered_mpi_reduce_scatter{
    "mpi_reduce_scatter", "Reduce-scatter over MPI in host memory: sharded gradients"};
}  // namespace
