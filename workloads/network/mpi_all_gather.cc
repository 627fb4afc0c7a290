// mpi_all_gather - every rank gets every rank's part: sharded weights before they are used.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;

class MpiAllGather final : public network::MpiCollective {
 public:
  explicit MpiAllGather(Params& p) : MpiCollective(p, Collective::all_gather) {}
};

const Register<MpiAllGather> registered_mpi_all_gather{
    "mpi_all_gather", "All-gather over MPI in host memory: sharded weights, put together"};
}  // namespace
