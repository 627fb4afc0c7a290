// The collective operations over MPI in host memory, a workload each.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;

template <Collective what>
class MpiOf final : public network::MpiCollective {
 public:
  explicit MpiOf(Params& p) : MpiCollective(p, what) {}
};

const Register<MpiOf<Collective::all_gather>> registered_mpi_all_gather{
    "mpi_all_gather", "All-gather over MPI in host memory: sharded weights, put together"};
const Register<MpiOf<Collective::all_reduce>> registered_mpi_all_reduce{
    "mpi_all_reduce", "All-reduce over MPI in host memory: what gradients of replicas ask of the network"};
const Register<MpiOf<Collective::all_to_all>> registered_mpi_all_to_all{
    "mpi_all_to_all", "All-to-all over MPI in host memory: tokens to experts"};
const Register<MpiOf<Collective::broadcast>> registered_mpi_broadcast{
    "mpi_broadcast", "Broadcast over MPI in host memory: weights after a restore"};
const Register<MpiOf<Collective::gather>> registered_mpi_gather{
    "mpi_gather", "Gather over MPI in host memory: parts of all at one rank"};
const Register<MpiOf<Collective::reduce>> registered_mpi_reduce{"mpi_reduce",
                                                                "Reduce over MPI in host memory: sums at one rank"};
const Register<MpiOf<Collective::reduce_scatter>> registered_mpi_reduce_scatter{
    "mpi_reduce_scatter", "Reduce-scatter over MPI in host memory: sharded gradients"};
const Register<MpiOf<Collective::scatter>> registered_mpi_scatter{
    "mpi_scatter", "Scatter over MPI in host memory: parts of one rank's, one to each"};
const Register<MpiOf<Collective::send_recv>> registered_mpi_send_recv{
    "mpi_send_recv", "Ring of sends over MPI in host memory: neighbouring pipeline stages"};

}  // namespace
