// nccl_all_gather - every GPU's part on every GPU: weights of sharded training before they are used.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

using NcclAllGather = network::NcclCollective<Collective::all_gather>;
const Register<NcclAllGather> registered{
    "nccl_all_gather", "every GPU's part on every GPU: weights of sharded training before they are used"};

}  // namespace
