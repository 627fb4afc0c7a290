// nccl_send_recv - from each GPU to the next: activations between pipeline stages.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

using NcclSendRecv = network::NcclCollective<Collective::send_recv>;
const Register<NcclSendRecv> registered{
    "nccl_send_recv", "from each GPU to the next: activations between pipeline stages"};

}  // namespace
