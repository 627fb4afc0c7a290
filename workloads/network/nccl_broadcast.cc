// nccl_broadcast - one GPU's numbers on every GPU: weights at the start and after a restart.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

using NcclBroadcast = network::NcclCollective<Collective::broadcast>;
const Register<NcclBroadcast> registered{
    "nccl_broadcast", "one GPU's numbers on every GPU: weights at the start and after a restart"};

}  // namespace
