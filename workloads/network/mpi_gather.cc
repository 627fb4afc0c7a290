// mpi_gather - a part of every rank, all at the first.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;

class MpiGather final : public network::MpiCollective {
 public:
  explicit MpiGather(Params& p) : MpiCollective(p, Collective::gather) {}
};

const Register<MpiGather> registered_mpi_gather{"mpi_gather",
                                                "Gather over MPI in host memory: parts of all at one rank"};

}  // namespace
