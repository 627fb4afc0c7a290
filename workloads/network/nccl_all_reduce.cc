// nccl_all_reduce - sums of every GPU's numbers on every GPU: gradients of data-parallel training.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

class NcclAllReduce final : public network::NcclCollective {
 public:
  explicit NcclAllReduce(Params& p) : NcclCollective(p, Collective::all_reduce) {}
};

const Register<NcclAllReduce> registered_nccl_all_reduce{
    "nccl_all_reduce", "sums of every GPU's numbers on every GPU: gradients of data-parallel training"};

}  // namespace
