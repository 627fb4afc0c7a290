// mpi_send_recv - each rank sends to the next and receives from the one before: pipeline stages.
#include "workloads/network/mpi_collective.h"

namespace {
using namespace headrace;

class MpiSendRecv final : public network::MpiCollective {
 public:
  explicit MpiSendRecv(Params& p) : MpiCollective(p, Collective::send_recv) {}
};

const Register<MpiSendRecv> registered_mpi_send_recv{
    "mpi_send_recv", "Ring of sends over MPI in host memory: neighbouring pipeline stages"};
}  // namespace
