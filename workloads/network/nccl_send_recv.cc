// nccl_send_recv - from each GPU to the next: activations between pipeline stages.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

class NcclSendRecv final : public network::NcclCollective {
 public:
  explicit NcclSendRecv(Params& p) : NcclCollective(p, Collective::send_recv) {}
};

const Register<NcclSendRecv> registered_nccl_send_recv{
    "nccl_send_recv", "from each GPU to the next: activations between pipeline stages"};

}  // namespace
