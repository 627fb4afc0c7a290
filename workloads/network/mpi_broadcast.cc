// mpi_broadcast - one rank's data at all ranks: weights after a restore.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;

class MpiBroadcast final : public network::MpiCollective {
 public:
  explicit MpiBroadcast(Params& p) : MpiCollective(p, Collective::broadcast) {}
};

const Register<MpiBroadcast> registered_mpi_broadcast{"mpi_broadcast",
                                                      "Broadcast over MPI in host memory: weights after a restore"};
}  // namespace
