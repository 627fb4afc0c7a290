// mpi_all_to_all - each rank sends each other one a part: tokens to their experts.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;

class MpiAllToAll final : public network::MpiCollective {
 public:
  explicit MpiAllToAll(Params& p) : MpiCollective(p, Collective::all_to_all) {}
};

const Register<MpiAllToAll> registered_mpi_all_to_all{"mpi_all_to_all",
                                                      "All-to-all over MPI in host memory: tokens to experts"};
}  // namespace
