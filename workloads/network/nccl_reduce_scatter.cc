// nccl_reduce_scatter - sums of every GPU's numbers, a part on each: gradients of sharded training.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

using NcclReduceScatter = network::NcclCollective<Collective::reduce_scatter>;
const Register<NcclReduceScatter> registered{
    "nccl_reduce_scatter", "sums of every GPU's numbers, a part on each: gradients of sharded training"};

}  // namespace
