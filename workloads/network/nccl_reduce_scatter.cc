// nccl_reduce_scatter - sums of every GPU's numbers, a part on each: gradients of sharded training.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

class NcclReduceScatter final : public network::NcclCollective {
 public:
  explicit NcclReduceScatter(Params& p) : NcclCollective(p, Collective::reduce_scatter) {}
};

const Register<NcclReduceScatter> registered_nccl_reduce_scatter{
    "nccl_reduce_scatter", "sums of every GPU's numbers, a part on each: gradients of sharded training"};

}  // namespace
