// mpi_reduce - sums of every rank's numbers at the first.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;

class MpiReduce final : public network::MpiCollective {
 public:
  explicit MpiReduce(Params& p) : MpiCollective(p, Collective::reduce) {}
};

const Register<MpiReduce> registered_mpi_reduce{"mpi_reduce", "Reduce over MPI in host memory: sums at one rank"};

}  // namespace
