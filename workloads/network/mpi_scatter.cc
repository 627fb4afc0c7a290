// mpi_scatter - parts of the first rank's numbers, one to each.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;

class MpiScatter final : public network::MpiCollective {
 public:
  explicit MpiScatter(Params& p) : MpiCollective(p, Collective::scatter) {}
};

const Register<MpiScatter> registered_mpi_scatter{"mpi_scatter",
                                                  "Scatter over MPI in host memory: parts of one rank's, one to each"};

}  // namespace
